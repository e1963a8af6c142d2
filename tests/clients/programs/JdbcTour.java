// PgJDBC: every method of DatabaseMetaData, batches, updatable results, calls, types. Argument: the URL.
// Each line of the output is `section | key | value`, so that the answers of two servers can be compared.

import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.sql.*;
import java.time.*;
import java.util.*;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;
import org.postgresql.util.PGobject;

public class JdbcTour {
    static Connection connection;

    interface Step {
        Object run() throws Exception;
    }

    static void say(String section, Object key, Object value) {
        String text = String.valueOf(value).replace("\\", "\\\\").replace("\n", "\\n").replaceAll("_\\d{5}", "_oid");
        System.out.println(section + " | " + key + " | " + text);
    }

    static String reason(Throwable error) {
        while (error instanceof java.lang.reflect.InvocationTargetException) error = error.getCause();
        if (error instanceof BatchUpdateException) {
            BatchUpdateException batch = (BatchUpdateException) error;
            return "batch " + Arrays.toString(batch.getUpdateCounts()) + " " + batch.getSQLState();
        }
        if (error instanceof SQLException) {
            String state = ((SQLException) error).getSQLState();
            return "error " + (state == null ? error.getMessage() : state);
        }
        return error.toString();
    }

    static void step(String section, String key, Step step) {
        try {
            say(section, key, step.run());
        } catch (Throwable error) {
            say(section, key, reason(error));
        }
    }

    static void rows(String section, String key, ResultSet result) throws SQLException {
        ResultSetMetaData columns = result.getMetaData();
        List<String> names = new ArrayList<>();
        for (int i = 1; i <= columns.getColumnCount(); i++) {
            names.add(columns.getColumnLabel(i) + ":" + columns.getColumnTypeName(i));
        }
        say(section, key, names);
        while (result.next()) {
            List<String> values = new ArrayList<>();
            for (int i = 1; i <= columns.getColumnCount(); i++) values.add(result.getString(i));
            say(section, key, values);
        }
        result.close();
    }

    static String query(String sql, Object... parameters) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < parameters.length; i++) statement.setObject(i + 1, parameters[i]);
            List<String> all = new ArrayList<>();
            ResultSet result = statement.executeQuery();
            while (result.next()) {
                List<String> values = new ArrayList<>();
                for (int i = 1; i <= result.getMetaData().getColumnCount(); i++) values.add(result.getString(i));
                all.add(String.join(",", values.stream().map(String::valueOf).toList()));
            }
            return String.join(";", all);
        }
    }

    static int execute(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return statement.executeUpdate(sql);
        }
    }

    static void plainMetadata(DatabaseMetaData metadata) {
        Set<String> left = Set.of("getConnection", "getURL", "getClass", "hashCode", "toString", "notify", "notifyAll", "wait",
            "getDatabaseProductVersion", "getDatabaseMajorVersion", "getDatabaseMinorVersion");
        Method[] methods = DatabaseMetaData.class.getMethods();
        Arrays.sort(methods, Comparator.comparing(Method::getName));
        for (Method method : methods) {
            if (method.getParameterCount() > 0 || left.contains(method.getName())) continue;
            try {
                Object answer = method.invoke(metadata);
                if (answer instanceof ResultSet) rows("plain", method.getName(), (ResultSet) answer);
                else say("plain", method.getName(), answer);
            } catch (Throwable error) {
                say("plain", method.getName(), reason(error));
            }
        }
    }

    static void resultMetadata(DatabaseMetaData metadata) {
        Map<String, Step> asked = new LinkedHashMap<>();
        asked.put("getTables", () -> metadata.getTables(null, "jd", "%", null));
        asked.put("getTables types", () -> metadata.getTables(null, "jd", "c%", new String[] {"TABLE", "VIEW", "MATERIALIZED VIEW"}));
        asked.put("getTables system", () -> metadata.getTables(null, "pg_catalog", "pg_class", null));
        asked.put("getColumns", () -> metadata.getColumns(null, "jd", "%", "%"));
        asked.put("getColumns one", () -> metadata.getColumns("jdbc", "jd", "customer", "n%"));
        asked.put("getColumns escaped", () -> metadata.getColumns(null, "jd", "Odd \\_ Name", null));
        asked.put("getPrimaryKeys", () -> metadata.getPrimaryKeys(null, "jd", "line"));
        asked.put("getPrimaryKeys all", () -> metadata.getPrimaryKeys(null, "jd", "customer"));
        asked.put("getImportedKeys", () -> metadata.getImportedKeys(null, "jd", "line"));
        asked.put("getExportedKeys", () -> metadata.getExportedKeys(null, "jd", "customer"));
        asked.put("getCrossReference", () -> metadata.getCrossReference(null, "jd", "customer", null, "jd", "line"));
        asked.put("getIndexInfo", () -> metadata.getIndexInfo(null, "jd", "customer", false, true));
        asked.put("getIndexInfo unique", () -> metadata.getIndexInfo(null, "jd", "line", true, false));
        asked.put("getBestRowIdentifier", () -> metadata.getBestRowIdentifier(null, "jd", "line", 2, true));
        asked.put("getVersionColumns", () -> metadata.getVersionColumns(null, "jd", "line"));
        asked.put("getTablePrivileges", () -> metadata.getTablePrivileges(null, "jd", "customer"));
        asked.put("getColumnPrivileges", () -> metadata.getColumnPrivileges(null, "jd", "customer", "name"));
        asked.put("getSchemas", () -> metadata.getSchemas(null, "jd"));
        asked.put("getFunctions", () -> metadata.getFunctions(null, "jd", "%"));
        asked.put("getFunctionColumns", () -> metadata.getFunctionColumns(null, "jd", "%", "%"));
        asked.put("getProcedures", () -> metadata.getProcedures(null, "jd", "%"));
        asked.put("getProcedureColumns", () -> metadata.getProcedureColumns(null, "jd", "%", "%"));
        asked.put("getUDTs", () -> metadata.getUDTs(null, "jd", "%", null));
        asked.put("getSuperTypes", () -> metadata.getSuperTypes(null, "jd", "%"));
        asked.put("getSuperTables", () -> metadata.getSuperTables(null, "jd", "%"));
        asked.put("getAttributes", () -> metadata.getAttributes(null, "jd", "%", "%"));
        asked.put("getPseudoColumns", () -> metadata.getPseudoColumns(null, "jd", "%", "%"));
        asked.forEach((key, step) -> {
            try {
                rows("metadata", key, (ResultSet) step.run());
            } catch (Throwable error) {
                say("metadata", key, reason(error));
            }
        });
        step("metadata", "supportsConvert", () -> metadata.supportsConvert(Types.INTEGER, Types.VARCHAR));
        step("metadata", "supportsResultSetType", () -> metadata.supportsResultSetType(ResultSet.TYPE_SCROLL_INSENSITIVE));
        step("metadata", "supportsTransactionIsolationLevel",
            () -> metadata.supportsTransactionIsolationLevel(Connection.TRANSACTION_SERIALIZABLE));
    }

    static void resultSetMetadata() throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(
                    "SELECT c.id, c.name AS called, c.score, c.born, l.qty + 1, l.note FROM jd.customer c JOIN jd.line l ON l.customer = c.id")) {
            ResultSetMetaData columns = result.getMetaData();
            for (int i = 1; i <= columns.getColumnCount(); i++) {
                say("columns", i, Arrays.asList(columns.getColumnName(i), columns.getColumnLabel(i), columns.getTableName(i),
                    columns.getSchemaName(i), columns.getColumnTypeName(i), columns.getColumnType(i), columns.getPrecision(i),
                    columns.getScale(i), columns.getColumnDisplaySize(i), columns.isNullable(i), columns.isAutoIncrement(i),
                    columns.isSigned(i), columns.isCaseSensitive(i), columns.isSearchable(i), columns.isCurrency(i),
                    columns.isReadOnly(i), columns.isWritable(i), columns.getColumnClassName(i)));
            }
        }
        try (PreparedStatement statement = connection.prepareStatement("INSERT INTO jd.customer (name, born, score) VALUES (?, ?, ?)")) {
            ParameterMetaData parameters = statement.getParameterMetaData();
            for (int i = 1; i <= parameters.getParameterCount(); i++) {
                say("parameters", i, Arrays.asList(parameters.getParameterTypeName(i), parameters.getParameterType(i),
                    parameters.getParameterClassName(i), parameters.getParameterMode(i), parameters.isSigned(i)));
            }
            say("parameters", "columns", String.valueOf(statement.getMetaData()));
        }
    }

    static void batches() throws SQLException {
        execute("DELETE FROM jd.line");
        execute("DELETE FROM jd.customer");
        step("batch", "prepared", () -> {
            try (PreparedStatement statement = connection.prepareStatement(
                    "INSERT INTO jd.customer (id, name, score) VALUES (?, ?, ?)")) {
                for (int i = 1; i <= 1000; i++) {
                    statement.setInt(1, i);
                    statement.setString(2, "n" + i);
                    statement.setBigDecimal(3, new BigDecimal(i).movePointLeft(1));
                    statement.addBatch();
                }
                return Arrays.stream(statement.executeBatch()).sum();
            }
        });
        step("batch", "generated keys", () -> {
            try (PreparedStatement statement = connection.prepareStatement(
                    "INSERT INTO jd.numbered (what) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
                for (String what : List.of("a", "b", "c")) {
                    statement.setString(1, what);
                    statement.addBatch();
                }
                int[] counts = statement.executeBatch();
                List<String> keys = new ArrayList<>();
                ResultSet result = statement.getGeneratedKeys();
                while (result.next()) keys.add(result.getString(1) + result.getString(2));
                return Arrays.toString(counts) + keys;
            }
        });
        step("batch", "named keys", () -> {
            try (PreparedStatement statement = connection.prepareStatement(
                    "INSERT INTO jd.numbered (what) VALUES ('d')", new String[] {"id"})) {
                statement.executeUpdate();
                ResultSet keys = statement.getGeneratedKeys();
                keys.next();
                return keys.getInt("id");
            }
        });
        step("batch", "texts", () -> {
            try (Statement statement = connection.createStatement()) {
                statement.addBatch("INSERT INTO jd.line VALUES (1, 1, 5, 'x')");
                statement.addBatch("UPDATE jd.line SET qty = qty + 1 WHERE customer = 1");
                statement.addBatch("DELETE FROM jd.line WHERE customer = 7");
                return Arrays.toString(statement.executeBatch());
            }
        });
        for (boolean automatic : new boolean[] {true, false}) {
            step("batch", "refused, autocommit " + automatic, () -> {
                connection.setAutoCommit(automatic);
                try (PreparedStatement statement = connection.prepareStatement("INSERT INTO jd.line VALUES (?, ?, 1, 'y')")) {
                    for (int line : new int[] {2, 3, 1, 4}) {
                        statement.setInt(1, 1);
                        statement.setInt(2, line);
                        statement.addBatch();
                    }
                    return Arrays.toString(statement.executeBatch());
                } finally {
                    if (!automatic) connection.rollback();
                    connection.setAutoCommit(true);
                }
            });
            step("batch", "after, autocommit " + automatic, () -> query("SELECT line FROM jd.line ORDER BY line"));
        }
        execute("DELETE FROM jd.line");
        execute("INSERT INTO jd.line SELECT id, 1, id, 'l' FROM jd.customer WHERE id <= 10");
    }

    static void updatable() throws SQLException {
        String sql = "SELECT customer, line, qty, note FROM jd.line ORDER BY customer";
        try (Statement statement = connection.createStatement(ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_UPDATABLE);
                ResultSet result = statement.executeQuery(sql)) {
            step("updatable", "concurrency", result::getConcurrency);
            step("updatable", "update", () -> {
                result.absolute(2);
                result.updateInt("qty", 99);
                result.updateNull("note");
                result.updateRow();
                return result.getInt("qty") + result.getString("note");
            });
            step("updatable", "insert", () -> {
                result.moveToInsertRow();
                result.updateInt(1, 20);
                result.updateInt(2, 7);
                result.updateInt(3, 70);
                result.updateString(4, "new");
                result.insertRow();
                result.moveToCurrentRow();
                return result.getRow();
            });
            step("updatable", "delete", () -> {
                result.absolute(3);
                result.deleteRow();
                return "gone";
            });
            step("updatable", "refresh", () -> {
                result.absolute(1);
                execute("UPDATE jd.line SET qty = 1000 WHERE customer = 1");
                result.refreshRow();
                return result.getInt("qty");
            });
            step("updatable", "duplicate", () -> {
                result.moveToInsertRow();
                result.updateInt(1, 1);
                result.updateInt(2, 1);
                result.insertRow();
                return "taken";
            });
        }
        step("updatable", "state", () -> query("SELECT customer, line, qty, note FROM jd.line ORDER BY 1, 2"));
        step("updatable", "unkeyed", () -> {
            try (Statement statement = connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE);
                    ResultSet result = statement.executeQuery("SELECT qty FROM jd.line")) {
                result.next();
                result.updateInt(1, 1);
                result.updateRow();
                return "taken";
            }
        });
    }

    static void calls() {
        step("call", "function", () -> {
            try (CallableStatement call = connection.prepareCall("{? = call jd.twice(?)}")) {
                call.registerOutParameter(1, Types.INTEGER);
                call.setInt(2, 21);
                call.execute();
                return call.getInt(1);
            }
        });
        step("call", "built in", () -> {
            try (CallableStatement call = connection.prepareCall("{? = call upper(?)}")) {
                call.registerOutParameter(1, Types.VARCHAR);
                call.setString(2, "low");
                call.execute();
                return call.getString(1) + call.wasNull();
            }
        });
        step("call", "select", () -> {
            try (CallableStatement call = connection.prepareCall("select jd.twice(?)")) {
                call.setInt(1, 4);
                ResultSet result = call.executeQuery();
                result.next();
                return result.getInt(1);
            }
        });
        step("call", "void", () -> {
            try (CallableStatement call = connection.prepareCall("{call pg_notify(?, ?)}")) {
                call.setString(1, "c");
                call.setString(2, "p");
                return call.execute();
            }
        });
        step("call", "no such", () -> connection.prepareCall("{? = call jd.nowhere(?)}").execute());
        step("call", "escapes", () -> query("SELECT {fn ucase('a')}, {d '2020-01-02'}, {ts '2020-01-02 03:04:05'}, {fn concat('a', 'b')},"
            + " {fn left('abc', 2)}, {fn mod(7, 3)}, {fn timestampdiff(SQL_TSI_DAY, {ts '2020-01-01 00:00:00'}, {ts '2020-01-04 00:00:00'})},"
            + " {fn dayofweek({d '2020-01-02'})}, {fn ifnull(NULL, 'z')}, {fn locate('b', 'abc')}"));
        step("call", "escaped like", () -> query("SELECT 'a_b' LIKE 'a|_b' {escape '|'}"));
    }

    static void types() {
        Map<String, Object> given = new LinkedHashMap<>();
        given.put("int2", (short) 7);
        given.put("int4", 7);
        given.put("int8", 7L);
        given.put("float4", 1.5f);
        given.put("float8", 1.25d);
        given.put("numeric", new BigDecimal("123456789012345678901234567890.5"));
        given.put("bool", true);
        given.put("text", "t\u00e9xt");
        given.put("bpchar", "c");
        given.put("date", LocalDate.of(2020, 2, 29));
        given.put("time", LocalTime.of(1, 2, 3, 4000));
        given.put("timestamp", LocalDateTime.of(2020, 1, 2, 3, 4, 5, 6000));
        given.put("timestamptz", OffsetDateTime.of(2020, 1, 2, 3, 4, 5, 6000, ZoneOffset.ofHours(2)));
        given.put("bytea", new byte[] {0, 1, (byte) 255});
        given.put("uuid", UUID.fromString("00000000-0000-0000-0000-00000000000a"));
        for (int threshold : new int[] {0, -1}) {
            given.forEach((type, value) -> step("types " + (threshold < 0 ? "binary" : "text"), type, () -> {
                try (PreparedStatement statement = connection.prepareStatement("SELECT ?::" + type + ", ?::" + type)) {
                    statement.unwrap(org.postgresql.PGStatement.class).setPrepareThreshold(threshold);
                    statement.setObject(1, value);
                    statement.setNull(2, Types.OTHER);
                    ResultSet result = statement.executeQuery();
                    result.next();
                    Object got = result.getObject(1);
                    String shown = got instanceof byte[] ? Arrays.toString((byte[]) got) : String.valueOf(got);
                    return got.getClass().getSimpleName() + " " + shown + " " + result.getObject(2)
                        + " " + result.getMetaData().getColumnTypeName(1);
                }
            }));
        }
        for (String type : List.of("json", "jsonb", "interval", "inet", "xml", "point", "money", "jd.mood")) {
            step("types object", type, () -> {
                PGobject value = new PGobject();
                value.setType(type);
                value.setValue(Map.of("interval", "1 day", "inet", "10.0.0.1", "xml", "<a/>", "point", "(1,2)", "money", "1",
                    "jd.mood", "sad").getOrDefault(type, "{\"a\": 1}"));
                try (PreparedStatement statement = connection.prepareStatement("SELECT ?::" + type)) {
                    statement.setObject(1, value);
                    ResultSet result = statement.executeQuery();
                    result.next();
                    return result.getObject(1).getClass().getSimpleName() + " " + result.getString(1);
                }
            });
        }
        for (String type : List.of("int4", "text", "float8", "numeric", "bool", "timestamptz", "uuid")) {
            step("types array", type, () -> {
                Object[] values = Map.<String, Object[]>of("int4", new Integer[] {1, null, 3}, "text", new String[] {"a", "b,c", null},
                    "float8", new Double[] {1.5}, "numeric", new BigDecimal[] {BigDecimal.TEN}, "bool", new Boolean[] {true, false},
                    "timestamptz", new String[] {"2020-01-01 00:00:00+00"}, "uuid", new UUID[] {new UUID(0, 1)}).get(type);
                try (PreparedStatement statement = connection.prepareStatement("SELECT ?::" + type + "[]")) {
                    statement.setArray(1, connection.createArrayOf(type, values));
                    ResultSet result = statement.executeQuery();
                    result.next();
                    java.sql.Array array = result.getArray(1);
                    return array.getBaseTypeName() + " " + Arrays.toString((Object[]) array.getArray()) + " " + result.getString(1);
                }
            });
        }
        step("types array", "two dimensions", () -> {
            try (PreparedStatement statement = connection.prepareStatement("SELECT ?::int4[]")) {
                statement.setArray(1, connection.createArrayOf("int4", new Integer[][] {{1, 2}, {3, 4}}));
                ResultSet result = statement.executeQuery();
                result.next();
                return Arrays.deepToString((Object[]) result.getArray(1).getArray());
            }
        });
    }

    static void sessions(String url) throws Exception {
        step("session", "fetch size", () -> {
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.setFetchSize(7);
                ResultSet result = statement.executeQuery("SELECT id FROM jd.customer ORDER BY id");
                long sum = 0;
                while (result.next()) sum += result.getInt(1);
                return sum;
            } finally {
                connection.commit();
                connection.setAutoCommit(true);
            }
        });
        step("session", "max rows", () -> {
            try (Statement statement = connection.createStatement()) {
                statement.setMaxRows(3);
                ResultSet result = statement.executeQuery("SELECT id FROM jd.customer");
                int count = 0;
                while (result.next()) count++;
                return count;
            }
        });
        step("session", "savepoint", () -> {
            connection.setAutoCommit(false);
            execute("INSERT INTO jd.numbered (what) VALUES ('kept')");
            Savepoint place = connection.setSavepoint("here");
            execute("INSERT INTO jd.numbered (what) VALUES ('lost')");
            connection.rollback(place);
            connection.releaseSavepoint(place);
            connection.commit();
            connection.setAutoCommit(true);
            return query("SELECT what FROM jd.numbered WHERE length(what) = 4");
        });
        step("session", "autosave", () -> {
            connection.unwrap(PGConnection.class).setAutosave(org.postgresql.jdbc.AutoSave.ALWAYS);
            connection.setAutoCommit(false);
            try {
                execute("INSERT INTO jd.numbered (what) VALUES ('first')");
                try {
                    query("SELECT 1 / 0");
                } catch (SQLException expected) {
                    execute("INSERT INTO jd.numbered (what) VALUES ('second')");
                }
                connection.commit();
            } finally {
                connection.setAutoCommit(true);
                connection.unwrap(PGConnection.class).setAutosave(org.postgresql.jdbc.AutoSave.NEVER);
            }
            return query("SELECT what FROM jd.numbered WHERE what IN ('first', 'second') ORDER BY id");
        });
        step("session", "read only", () -> {
            connection.setReadOnly(true);
            connection.setAutoCommit(false);
            try {
                return execute("DELETE FROM jd.line");
            } finally {
                connection.rollback();
                connection.setAutoCommit(true);
                connection.setReadOnly(false);
            }
        });
        step("session", "isolation", () -> {
            List<Integer> levels = new ArrayList<>();
            for (int level : new int[] {Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE,
                    Connection.TRANSACTION_READ_COMMITTED}) {
                connection.setTransactionIsolation(level);
                levels.add(connection.getTransactionIsolation());
            }
            return levels;
        });
        step("session", "timeout", () -> {
            try (Statement statement = connection.createStatement()) {
                statement.setQueryTimeout(1);
                return statement.execute("SELECT pg_sleep(20)");
            }
        });
        step("session", "schema", () -> {
            connection.setSchema("jd");
            String schema = connection.getSchema() + query("SELECT count(*) FROM customer");
            connection.setSchema("public");
            return schema + connection.getCatalog();
        });
        step("session", "valid", () -> connection.isValid(5));
        step("session", "client info", () -> {
            connection.setClientInfo("ApplicationName", "tour");
            return connection.getClientInfo("ApplicationName") + query("SHOW application_name");
        });
        step("session", "copy in", () -> {
            CopyManager copies = connection.unwrap(PGConnection.class).getCopyAPI();
            return copies.copyIn("COPY jd.numbered (what) FROM STDIN WITH (FORMAT csv)", new java.io.StringReader("x,\n".replace(",", "") + "\"y,z\"\n"));
        });
        step("session", "copy out", () -> {
            java.io.StringWriter out = new java.io.StringWriter();
            long count = connection.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY (SELECT id, name FROM jd.customer WHERE id < 4 ORDER BY id) TO STDOUT", out);
            return count + out.toString();
        });
        step("session", "notifications", () -> {
            execute("LISTEN tour");
            execute("NOTIFY tour, 'payload'");
            org.postgresql.PGNotification[] got = connection.unwrap(PGConnection.class).getNotifications(2000);
            return got.length + got[0].getName() + got[0].getParameter();
        });
        step("session", "changed table", () -> {
            try (PreparedStatement statement = connection.prepareStatement("SELECT * FROM jd.altered")) {
                for (int i = 0; i < 7; i++) statement.executeQuery().close();
                execute("ALTER TABLE jd.altered ADD COLUMN more int DEFAULT 3");
                ResultSet result = statement.executeQuery();
                result.next();
                return result.getMetaData().getColumnCount() + result.getString(2);
            }
        });
        step("session", "several results", () -> {
            try (Statement statement = connection.createStatement()) {
                List<Object> got = new ArrayList<>();
                boolean isResult = statement.execute("SELECT 1; UPDATE jd.customer SET score = 2 WHERE id < 3; SELECT 2");
                while (isResult || statement.getUpdateCount() != -1) {
                    if (isResult) {
                        ResultSet result = statement.getResultSet();
                        result.next();
                        got.add("row " + result.getInt(1));
                    } else got.add(statement.getUpdateCount());
                    isResult = statement.getMoreResults();
                }
                return got;
            }
        });
        step("session", "holdable", () -> {
            connection.setAutoCommit(false);
            Statement statement = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY,
                ResultSet.HOLD_CURSORS_OVER_COMMIT);
            ResultSet result = statement.executeQuery("SELECT id FROM jd.customer ORDER BY id");
            result.last();
            int last = result.getInt(1);
            connection.commit();
            result.first();
            connection.setAutoCommit(true);
            return last + " " + result.getInt(1) + " " + result.isFirst();
        });
        for (String mode : List.of("simple", "extended", "extendedForPrepared", "extendedCacheEverything")) {
            step("mode", mode, () -> {
                try (Connection other = DriverManager.getConnection(url + "&preferQueryMode=" + mode);
                        PreparedStatement statement = other.prepareStatement(
                            "SELECT name, score FROM jd.customer WHERE id = ? AND name LIKE ? AND score > ? AND born IS NULL")) {
                    statement.setInt(1, 12);
                    statement.setString(2, "n'%".replace("'", ""));
                    statement.setBigDecimal(3, BigDecimal.ONE);
                    ResultSet result = statement.executeQuery();
                    result.next();
                    return result.getString(1) + result.getBigDecimal(2);
                }
            });
        }
        step("mode", "rewritten batches", () -> {
            try (Connection other = DriverManager.getConnection(url + "&reWriteBatchedInserts=true");
                    PreparedStatement statement = other.prepareStatement("INSERT INTO jd.many VALUES (?, ?)")) {
                for (int i = 0; i < 1000; i++) {
                    statement.setInt(1, i);
                    statement.setString(2, "m" + i);
                    statement.addBatch();
                }
                statement.executeBatch();
                return query("SELECT count(*), sum(a), min(b) FROM jd.many");
            }
        });
        for (String sql : List.of("INSERT INTO jd.customer (id, name) VALUES (1, 'zz')", "INSERT INTO jd.line VALUES (-1, 1, 1, 'z')",
                "INSERT INTO jd.customer (id, name) VALUES (-5, NULL)", "UPDATE jd.customer SET score = -1 WHERE id = 1",
                "SELECT * FROM jd.nowhere", "SELECT 1 +", "SELECT 'a'::int", "DROP TABLE jd.customer")) {
            step("errors", sql, () -> {
                try {
                    return execute(sql);
                } catch (org.postgresql.util.PSQLException error) {
                    org.postgresql.util.ServerErrorMessage told = error.getServerErrorMessage();
                    return Arrays.asList(told.getSQLState(), told.getMessage(), told.getDetail(), told.getHint(), told.getSchema(),
                        told.getTable(), told.getColumn(), told.getConstraint(), told.getPosition());
                }
            });
        }
    }

    static final String[] SCHEMA = {
        "DROP SCHEMA IF EXISTS jd CASCADE",
        "CREATE SCHEMA jd",
        "CREATE TYPE jd.mood AS ENUM ('sad', 'happy')",
        "CREATE TABLE jd.customer (id serial PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, born date,"
            + " score numeric(10,2) DEFAULT 1.5 CONSTRAINT positive CHECK (score > 0), mood jd.mood, tags text[],"
            + " seen timestamp with time zone, note char(5), doc jsonb, raw bytea)",
        "CREATE TABLE jd.line (customer int REFERENCES jd.customer (id) ON DELETE CASCADE, line int, qty int, note text,"
            + " PRIMARY KEY (customer, line))",
        "CREATE INDEX line_by_note ON jd.line (note DESC, qty)",
        "CREATE TABLE jd.numbered (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text)",
        "CREATE TABLE jd.altered (a int)",
        "INSERT INTO jd.altered VALUES (1)",
        "CREATE TABLE jd.many (a int, b text)",
        "CREATE TABLE jd.\"Odd _ Name\" (\"A Column\" int, b double precision, c real, d smallint, e interval, f uuid, g boolean,"
            + " h time, i bigint GENERATED BY DEFAULT AS IDENTITY, j json, k int GENERATED ALWAYS AS (d * 2) STORED)",
        "CREATE VIEW jd.cheap AS SELECT id, name FROM jd.customer WHERE score < 3",
        "CREATE MATERIALIZED VIEW jd.counted AS SELECT customer, count(*) AS n FROM jd.line GROUP BY customer",
        "CREATE SEQUENCE jd.own START 5",
        "CREATE FUNCTION jd.twice(n int) RETURNS int LANGUAGE sql AS 'select n * 2'",
        "COMMENT ON TABLE jd.customer IS 'who buys'",
        "COMMENT ON COLUMN jd.customer.name IS 'as they say it'",
        "COMMENT ON FUNCTION jd.twice(int) IS 'doubles'",
    };

    public static void main(String[] arguments) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        connection = DriverManager.getConnection(arguments[0]);
        for (String statement : SCHEMA) execute(statement);
        DatabaseMetaData metadata = connection.getMetaData();
        plainMetadata(metadata);
        resultMetadata(metadata);
        batches();
        resultSetMetadata();
        updatable();
        calls();
        types();
        sessions(arguments[0]);
        execute("DROP SCHEMA jd CASCADE");
        connection.close();
    }
}
