// Kysely: schema, queries, introspection. Argument: the port.
const { config, equal, tour } = require("./tour.js");
const { Kysely, PostgresDialect } = require("kysely");
const { Pool } = require("pg");
const db = new Kysely({ dialect: new PostgresDialect({ pool: new Pool(config) }) });

tour(
  [
    ["create", () => db.schema.createTable("ky").addColumn("id", "serial", (c) => c.primaryKey())
      .addColumn("n", "varchar", (c) => c.unique()).execute()],
    ["insert", () => db.insertInto("ky").values([{ n: "a" }, { n: "b" }])
      .onConflict((o) => o.column("n").doNothing()).execute()],
    ["lock", () => db.transaction().execute(async (t) => equal(
      (await t.selectFrom("ky").selectAll().forUpdate().skipLocked().execute()).length, 2))],
    ["introspect", async () => {
      const table = (await db.introspection.getTables()).find((each) => each.name === "ky");
      equal(table.columns.map((c) => [c.name, c.isAutoIncrementing]), [["id", true], ["n", false]]);
    }],
  ],
  () => db.destroy(),
);
