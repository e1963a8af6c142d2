// TypeORM: synchronize, and again without a change; save, upsert, locks. Argument: the port.
require("reflect-metadata");
const { config, equal, tour } = require("./tour.js");
const { DataSource, EntitySchema } = require("typeorm");
const Thing = new EntitySchema({
  name: "Thing", tableName: "things",
  columns: {
    id: { type: Number, primary: true, generated: true }, name: { type: String, unique: true },
    j: { type: "json", nullable: true }, t: { type: "text", nullable: true },
    v: { type: "varchar", length: 20, nullable: true }, a: { type: "int", array: true, nullable: true },
    at: { type: "timestamptz", createDate: true },
  },
  indices: [{ columns: ["v"] }],
});
const db = new DataSource({ ...config, username: config.user, type: "postgres", entities: [Thing] });

tour(
  [
    ["initialize", () => db.initialize()],
    ["synchronize", () => db.synchronize()],
    ["save", async () => {
      await db.getRepository("Thing").save({ name: "a", j: { a: 1 }, a: [1], t: "kept" });
      await db.getRepository("Thing").upsert({ name: "u" }, ["name"]);
    }],
    ["again", async () => equal((await db.driver.createSchemaBuilder().log()).upQueries.map((q) => q.query), [])],
    ["read", async () => equal((await db.getRepository("Thing").findOneBy({ name: "a" })).j, { a: 1 })],
    ["lock", () => db.transaction(async (m) => equal((await m.getRepository("Thing").createQueryBuilder("x")
      .setLock("pessimistic_write").getMany()).length, 2))],
  ],
  () => db.destroy(),
);
