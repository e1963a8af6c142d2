// Knex: schema, queries, transactions, migrations. Argument: the port.
const { config, equal, tour } = require("./tour.js");
const knex = require("knex")({ client: "pg", connection: config });

const migrations = {
  migrationSource: {
    getMigrations: async () => ["first"],
    getMigrationName: (name) => name,
    getMigration: async () => ({
      up: (db) => db.schema.createTable("migrated", (t) => t.increments()),
      down: (db) => db.schema.dropTable("migrated"),
    }),
  },
};

tour(
  [
    ["create", () => knex.schema.createTable("ka", (t) => {
      t.increments("id"); t.string("name").unique(); t.enum("e", ["x", "y"]); t.json("j"); t.jsonb("jb");
      t.timestamps(true, true); t.comment("a comment"); t.uuid("u"); t.decimal("d", 8, 2); t.text("words");
    })],
    ["foreign key", () => knex.schema.createTable("kb", (t) => {
      t.increments(); t.integer("ka_id").references("ka.id").onDelete("CASCADE").index();
    })],
    ["insert", async () => {
      const rows = await knex("ka").insert({ name: "a", e: "x", j: { a: 1 }, jb: { b: 2 } }).returning(["id", "j"]);
      equal(rows, [{ id: 1, j: { a: 1 } }]);
    }],
    ["merge", async () => equal(
      await knex("ka").insert({ name: "a", e: "y" }).onConflict("name").merge().returning("e"), [{ e: "y" }])],
    ["ignore", () => knex("ka").insert({ name: "a", e: "y" }).onConflict("name").ignore()],
    ["lock", () => knex.transaction(async (t) => equal((await t("ka").forUpdate().select("id")).length, 1))],
    ["skip", () => knex.transaction(async (t) => equal((await t("ka").forUpdate().skipLocked().select("id")).length, 1))],
    ["with", async () => equal(await knex.with("w", knex("ka").select("id")).from("w").select(), [{ id: 1 }])],
    ["columns", async () => equal((await knex("ka").columnInfo()).words.type, "text")],
    ["has", async () => equal(await knex.schema.hasTable("ka"), true)],
    ["alter", () => knex.schema.alterTable("ka", (t) => {
      t.string("more", 10).notNullable().defaultTo("q"); t.renameColumn("u", "uu"); t.dropColumn("d");
    })],
    ["truncate", () => knex("kb").truncate()],
    ["migrate", () => knex.migrate.latest(migrations)],
    ["rollback", () => knex.migrate.rollback(migrations)],
  ],
  () => knex.destroy(),
);
