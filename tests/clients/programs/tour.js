// What the programs of node share: a step fails the program, with its name.
exports.config = { host: "127.0.0.1", port: Number(process.argv[2]), user: "root", database: "dev" };
exports.tour = async (steps, end) => {
  let failed = false;
  for (const [name, step] of steps) {
    try {
      await step();
    } catch (error) {
      failed = true;
      console.error(`${name}: ${error.message}`);
    }
  }
  await end();
  process.exit(failed ? 1 : 0);
};
exports.equal = require("node:assert").strict.deepEqual;
