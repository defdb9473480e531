with metadata_messages as (

    select
        concat_ws(':', topic, `partition`, `offset`) as _ct_metadata_raw_id,
        struct(`timestamp`, `offset`) as _ct_landed_place,
        from_json(cast(value as string), 'struct<_ct_corrupt: string, magic: string, message: struct<schemaId: string, lineage: struct<server: string, task: string, `schema`: string, `table`: string, tableVersion: string, timestamp: string>, tableStructure: struct<tableColumns: map<string, struct<ordinal: string, type: string, length: string, precision: string, scale: string, primaryKeyPosition: string>>>, dataSchema: string>, schemaId: string, lineage: struct<server: string, task: string, `schema`: string, `table`: string, tableVersion: string, timestamp: string>, tableStructure: struct<tableColumns: map<string, struct<ordinal: string, type: string, length: string, precision: string, scale: string, primaryKeyPosition: string>>>, dataSchema: string>', map('columnNameOfCorruptRecord', '_ct_corrupt')) as _ct_metadata
    from lake_raw.kafka_shared
    where contains(cast(value as string), '"tableStructure"') and contains(cast(value as string), '"lineage"')

),

metadata_bodies as (

    select
        _ct_metadata_raw_id,
        _ct_landed_place,
        case
            when _ct_metadata['magic'] is not null then _ct_metadata['message']
            else struct(
                _ct_metadata['schemaId'] as `schemaId`, _ct_metadata['lineage'] as lineage,
                _ct_metadata['tableStructure'] as `tableStructure`, _ct_metadata['dataSchema'] as `dataSchema`
            )
        end as _ct_version
    from metadata_messages

),

schema_versions as (

    select
        *,
        filter(
            transform(
                map_entries(_ct_version['tableStructure']['tableColumns']),
                entry -> struct(
                    try_cast(entry['value']['ordinal'] as int) as ordinal,
                    entry['key'] as name,
                    entry['value']['type'] as type,
                    try_cast(entry['value']['length'] as int) as length,
                    try_cast(entry['value']['precision'] as int) as precision,
                    try_cast(entry['value']['scale'] as int) as scale,
                    try_cast(entry['value']['primaryKeyPosition'] as int) as primary_key_position
                )
            ),
            entry -> entry['ordinal'] is not null
        ) as _ct_columns
    from metadata_bodies

),

-- a schema that is sent again is the same
latest_versions as (

    select max_by(struct(*), _ct_landed_place) as _ct_latest
    from schema_versions
    where _ct_version['schemaId'] is not null
    group by _ct_version['schemaId']

),

schemas as (

    select
        _ct_latest['_ct_version']['schemaId'] as _ct_schema_id,
        _ct_latest['_ct_version']['lineage']['schema'] as _ct_schema_name,
        _ct_latest['_ct_version']['lineage']['table'] as _ct_table_name,
        try_cast(_ct_latest['_ct_version']['lineage']['tableVersion'] as int) as _ct_table_version,
        _ct_latest['_ct_version']['lineage']['server'] as _ct_server,
        _ct_latest['_ct_version']['lineage']['task'] as _ct_task,
        array_sort(_ct_latest['_ct_columns']) as _ct_columns,
        if(
            size(array_distinct(_ct_latest['_ct_columns']['ordinal'])) = size(_ct_latest['_ct_columns']),
            map_from_arrays(_ct_latest['_ct_columns']['ordinal'], _ct_latest['_ct_columns']['name']),
            null
        ) as _ct_column_names,
        _ct_latest['_ct_version']['dataSchema'] as _ct_data_schema,
        _ct_latest['_ct_metadata_raw_id'] as _ct_metadata_raw_id
    from latest_versions

)

select
    _ct_schema_id as schema_id,
    _ct_schema_name as schema_name,
    _ct_table_name as table_name,
    _ct_table_version as table_version,
    _ct_server as server,
    _ct_task as task,
    _ct_columns as columns,
    _ct_data_schema as data_schema,
    _ct_metadata_raw_id as _raw_id
from schemas
