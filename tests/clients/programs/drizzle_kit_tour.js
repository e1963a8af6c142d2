// Drizzle-kit: push, push again, push a changed schema, pull (introspect). Arguments: the port, an empty folder.
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { config, equal, tour } = require("./tour.js");
const { Client } = require("pg");
const place = process.argv[3];
const modules = process.env.NODE_PATH;
fs.symlinkSync(modules, path.join(place, "node_modules"));

const head = `const { pgTable, pgEnum, serial, integer, text, varchar, timestamp, boolean, jsonb, numeric, uuid, index,
  uniqueIndex, primaryKey, unique, check, foreignKey } = require("drizzle-orm/pg-core");
const { sql } = require("drizzle-orm");\n`;
const first = `${head}
exports.mood = pgEnum("mood", ["sad", "happy"]);
exports.authors = pgTable("authors", {
  id: serial("id").primaryKey(), name: varchar("name", { length: 40 }).notNull().unique(),
  born: timestamp("born", { precision: 3, withTimezone: true }).defaultNow(), data: jsonb("data"),
  mood: exports.mood("mood").default("happy"), key: uuid("key").defaultRandom(),
});
exports.books = pgTable("books", {
  id: integer("id").primaryKey().generatedAlwaysAsIdentity(),
  author: integer("author").notNull().references(() => exports.authors.id, { onDelete: "cascade" }),
  title: text("title").notNull(), price: numeric("price", { precision: 10, scale: 2 }), tags: text("tags").array(),
}, (t) => [index("by_title").on(t.title), index("by_price").on(t.price, t.author, t.title), check("priced", sql\`\${t.price} > 0\`)]);\n`;
const second = first.replace('data: jsonb("data"),', 'data: jsonb("data"), active: boolean("active").default(true),')
  .replace('index("by_title").on(t.title)', 'uniqueIndex("by_title").on(t.title)');

const kit = (...words) => {
  const done = spawnSync(process.execPath, [path.join(modules, "drizzle-kit", "bin.cjs"), ...words],
    { cwd: place, encoding: "utf8", timeout: 120000 });
  if (done.status !== 0 || /error:/i.test(done.stderr + done.stdout)) {
    throw new Error(`${words}: ${done.status} ${done.stdout} ${done.stderr}`);
  }
  return done.stdout;
};
const rows = async (sql) => {
  const client = new Client(config);
  await client.connect();
  const found = await client.query(sql);
  await client.end();
  return found.rows;
};
const push = (schema) => {
  fs.writeFileSync(path.join(place, "schema.js"), schema);
  return kit("push", "--force");
};
fs.writeFileSync(path.join(place, "drizzle.config.js"), `module.exports = { dialect: "postgresql", schema: "./schema.js",
  out: "./out", dbCredentials: { host: "127.0.0.1", port: ${config.port}, user: "root", database: "dev", ssl: false } };`);

tour(
  [
    ["push", async () => {
      push(first);
      await rows(`INSERT INTO authors (name) VALUES ('a'); INSERT INTO books (author, title, price) VALUES (1, 't', 2)`);
      equal((await rows("SELECT mood, born IS NOT NULL AS born FROM authors"))[0], { mood: "happy", born: true });
    }],
    ["push again", () => equal(/No changes detected/.test(push(first)), true)],
    ["push a changed schema", async () => {
      push(second);
      equal((await rows("SELECT active FROM authors"))[0], { active: true });
      equal(/No changes detected/.test(push(second)), true);
    }],
    ["pull", () => {
      kit("pull");
      const pulled = fs.readFileSync(path.join(place, "out", "schema.ts"), "utf8");
      for (const part of ["pgEnum(\"mood\"", "uniqueIndex(\"by_title\")", "precision: 3", "length: 40", "onDelete(\"cascade\")",
        "check(\"priced\"", "generatedAlwaysAsIdentity", "numeric({ precision: 10", "unique("]) {
        equal([part, pulled.includes(part)], [part, true]);
      }
    }],
  ],
  async () => {},
);
