with metadata_messages as (

    select
        concat_ws(':', topic, `partition`, `offset`) as _metadata_raw_id,
        struct(`timestamp`, `offset`) as _landed_place,
        from_json(cast(value as string), 'struct<_corrupt: string, magic: string, message: struct<schemaId: string, lineage: struct<server: string, task: string, `schema`: string, `table`: string, tableVersion: string, timestamp: string>, tableStructure: struct<tableColumns: map<string, struct<ordinal: string, type: string, length: string, precision: string, scale: string, primaryKeyPosition: string>>>, dataSchema: string>, schemaId: string, lineage: struct<server: string, task: string, `schema`: string, `table`: string, tableVersion: string, timestamp: string>, tableStructure: struct<tableColumns: map<string, struct<ordinal: string, type: string, length: string, precision: string, scale: string, primaryKeyPosition: string>>>, dataSchema: string>', map('columnNameOfCorruptRecord', '_corrupt')) as _metadata
    from lake_raw.kafka_shared
    where contains(cast(value as string), '"tableStructure"') and contains(cast(value as string), '"lineage"')

),

metadata_bodies as (

    select
        _metadata_raw_id,
        _landed_place,
        case
            when _metadata['magic'] is not null then _metadata['message']
            else struct(
                _metadata['schemaId'] as `schemaId`, _metadata['lineage'] as lineage,
                _metadata['tableStructure'] as `tableStructure`, _metadata['dataSchema'] as `dataSchema`
            )
        end as _version
    from metadata_messages

),

schema_versions as (

    select
        *,
        filter(
            transform(
                map_entries(_version['tableStructure']['tableColumns']),
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
        ) as _columns
    from metadata_bodies

),

-- one that is sent again tells the same
latest_versions as (

    select max_by(struct(*), _landed_place) as _latest
    from schema_versions
    where _version['schemaId'] is not null
    group by _version['schemaId']

),

schemas as (

    select
        _latest['_version']['schemaId'] as _schema_id,
        _latest['_version']['lineage']['schema'] as _schema_name,
        _latest['_version']['lineage']['table'] as _table_name,
        try_cast(_latest['_version']['lineage']['tableVersion'] as int) as _table_version,
        _latest['_version']['lineage']['server'] as _server,
        _latest['_version']['lineage']['task'] as _task,
        array_sort(_latest['_columns']) as _columns,
        if(
            size(array_distinct(_latest['_columns']['ordinal'])) = size(_latest['_columns']),
            map_from_arrays(_latest['_columns']['ordinal'], _latest['_columns']['name']),
            null
        ) as _column_names,
        _latest['_version']['dataSchema'] as _data_schema,
        _latest['_metadata_raw_id'] as _metadata_raw_id
    from latest_versions

)

select
    _schema_id as schema_id,
    _schema_name as schema_name,
    _table_name as table_name,
    _table_version as table_version,
    _server as server,
    _task as task,
    _columns as columns,
    _data_schema as data_schema,
    _metadata_raw_id as _raw_id
from schemas
