package autocdc;

import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;

/** A table of Iceberg's, whose columns are asked for as Spark 4.3 has it: what Iceberg calls there is gone. */
final class IcebergTable extends SparkTable {
    IcebergTable(org.apache.iceberg.Table table) {
        super(table);
    }

    @Override
    public Column[] columns() {
        return CatalogV2Util.structTypeToV2Columns(schema(), false);
    }
}
