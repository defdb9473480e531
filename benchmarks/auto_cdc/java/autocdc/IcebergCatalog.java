package autocdc;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.spark.Spark3Util;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Iceberg tables in a folder, for Spark 4.3: as much of a catalog as its pipelines ask for. Iceberg's own catalog is
 * built for Spark 4.1, and Spark 4.3 cannot load it; its tables, once loaded, work.
 */
public final class IcebergCatalog implements TableCatalog, SupportsNamespaces {
    private final HadoopCatalog tables = new HadoopCatalog();
    private String name;

    @Override
    public void initialize(String catalogName, CaseInsensitiveStringMap options) {
        name = catalogName;
        tables.setConf(SparkSession.active().sessionState().newHadoopConf());
        tables.initialize(catalogName, new HashMap<>(options.asCaseSensitiveMap()));
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Table loadTable(Identifier table) throws org.apache.spark.sql.catalyst.analysis.NoSuchTableException {
        try {
            return new IcebergTable(tables.loadTable(inIceberg(table)));
        } catch (NoSuchTableException missing) {
            throw new org.apache.spark.sql.catalyst.analysis.NoSuchTableException(table);
        }
    }

    @Override
    public Table createTable(Identifier table, TableInfo info) {
        var schema = SparkSchemaUtil.convert(CatalogV2Util.v2ColumnsToStructType(info.columns()));
        var properties = Spark3Util.rebuildCreateProperties(info.properties());
        return new IcebergTable(tables.buildTable(inIceberg(table), schema).withProperties(properties).create());
    }

    @Override
    public Table alterTable(Identifier table, TableChange... changes) {
        List<TableChange> ofProperties = new ArrayList<>();
        List<TableChange> ofColumns = new ArrayList<>();
        for (TableChange change : changes) {
            (change instanceof TableChange.ColumnChange ? ofColumns : ofProperties).add(change);
        }
        Transaction transaction = tables.loadTable(inIceberg(table)).newTransaction();
        if (!ofProperties.isEmpty()) {
            Spark3Util.applyPropertyChanges(transaction.updateProperties(), ofProperties).commit();
        }
        if (!ofColumns.isEmpty()) {
            Spark3Util.applySchemaChanges(transaction.updateSchema(), ofColumns).commit();
        }
        transaction.commitTransaction();
        return new IcebergTable(tables.loadTable(inIceberg(table)));
    }

    @Override
    public boolean dropTable(Identifier table) {
        return tables.dropTable(inIceberg(table), true);
    }

    @Override
    public void renameTable(Identifier before, Identifier after) {
        throw new UnsupportedOperationException("tables keep their names");
    }

    @Override
    public Identifier[] listTables(String[] namespace) {
        return tables.listTables(inIceberg(namespace)).stream()
                .map(table -> Identifier.of(namespace, table.name()))
                .toArray(Identifier[]::new);
    }

    @Override
    public String[][] listNamespaces() {
        return listNamespaces(new String[0]);
    }

    @Override
    public String[][] listNamespaces(String[] above) {
        return tables.listNamespaces(inIceberg(above)).stream().map(each -> each.levels()).toArray(String[][]::new);
    }

    @Override
    public boolean namespaceExists(String[] namespace) {
        return tables.namespaceExists(inIceberg(namespace));
    }

    @Override
    public Map<String, String> loadNamespaceMetadata(String[] namespace) {
        return tables.loadNamespaceMetadata(inIceberg(namespace));
    }

    @Override
    public void createNamespace(String[] namespace, Map<String, String> metadata) {
        tables.createNamespace(inIceberg(namespace)); // which keeps no metadata here, not even an owner
    }

    @Override
    public void alterNamespace(String[] namespace, NamespaceChange... changes) {
        throw new UnsupportedOperationException("namespaces keep what they were made with");
    }

    @Override
    public boolean dropNamespace(String[] namespace, boolean cascade) {
        throw new UnsupportedOperationException("the folder is deleted as a whole");
    }

    private static TableIdentifier inIceberg(Identifier table) {
        return TableIdentifier.of(inIceberg(table.namespace()), table.name());
    }

    private static org.apache.iceberg.catalog.Namespace inIceberg(String[] namespace) {
        return org.apache.iceberg.catalog.Namespace.of(namespace);
    }
}
