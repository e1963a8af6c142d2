// Reads attempts to log in, one a line, and writes what node's pg says: user, SQLSTATE and message between tabs.
const fs = require("fs");
const { Client } = require("pg");
const PATIENCE = { connectionTimeoutMillis: 60000 };

function tls(encrypted, authority, certificate) {
  if (encrypted !== "true") return false;
  const options = authority ? { ca: fs.readFileSync(authority) } : { rejectUnauthorized: false };
  if (certificate) {
    options.cert = fs.readFileSync(certificate + ".crt");
    options.key = fs.readFileSync(certificate + ".key");
  }
  return options;
}

async function outcome(line) {
  const [host, port, user, password, database, encrypted, authority, certificate, bound] = line.split("\t");
  const ssl = tls(encrypted, authority, certificate);
  const enableChannelBinding = bound === "true";
  const client = new Client({ host, port: Number(port), user, password, database, ssl, enableChannelBinding, ...PATIENCE });
  client.on("error", () => {}); // what comes after the first error says nothing more
  try {
    await client.connect();
    const found = await client.query("SELECT current_user AS name");
    return `${found.rows[0].name}\t\t`;
  } catch (error) {
    return `\t${error.code ?? ""}\t${String(error.message).replace(/\s+/g, " ")}`;
  } finally {
    client.end().catch(() => {}); // not awaited: of a connection that has ended already, it would hear nothing
  }
}

async function main() {
  const lines = fs.readFileSync(0, "utf8").split("\n").filter((line) => line);
  for (const line of lines) console.log(await outcome(line));
}

main();
