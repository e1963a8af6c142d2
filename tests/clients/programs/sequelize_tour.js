// Sequelize: sync there and again, associations, upserts, locks, descriptions. Argument: the port.
const { config, equal, tour } = require("./tour.js");
const { DataTypes, Sequelize } = require("sequelize");
const db = new Sequelize(config.database, config.user, "", { ...config, dialect: "postgres", logging: false });
const A = db.define("SeqA", {
  name: { type: DataTypes.STRING, unique: true }, j: DataTypes.JSON, jb: DataTypes.JSONB, n: DataTypes.INTEGER,
  t: DataTypes.TEXT, list: DataTypes.ARRAY(DataTypes.INTEGER),
});
const B = db.define("SeqB", { x: DataTypes.STRING });
A.hasMany(B);
B.belongsTo(A);

tour(
  [
    ["authenticate", () => db.authenticate()],
    ["sync", () => db.sync({ force: true })],
    ["alter", () => db.sync({ alter: true })],
    ["create", async () => {
      const a = await A.create({ name: "a", j: { a: 1 }, jb: { b: 1 }, n: 1, t: "t", list: [1, 2] });
      await B.create({ x: "1", SeqAId: a.id });
      const [found] = await A.findAll({ include: B, where: { name: "a" } });
      equal([found.j, found.list, found.SeqBs.length], [{ a: 1 }, [1, 2], 1]);
    }],
    ["upsert", () => A.upsert({ name: "a", n: 5 })],
    ["json", async () => equal(await A.count({ where: { "jb.b": 1 } }), 1)],
    ["bulk", () => A.bulkCreate([{ name: "b" }, { name: "c" }], { ignoreDuplicates: true })],
    ["lock", () => db.transaction(async (t) => equal(
      (await A.findAll({ lock: t.LOCK.UPDATE, transaction: t })).length, 3))],
    ["describe", async () => equal((await db.getQueryInterface().describeTable("SeqAs")).t.type, "TEXT")],
    ["indexes", () => db.getQueryInterface().showIndex("SeqAs")],
  ],
  () => db.close(),
);
