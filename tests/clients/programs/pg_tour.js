// node's pg alone: LISTEN and NOTIFY. Argument: the port.
const { Client } = require("pg");
const { config, equal, tour } = require("./tour.js");

const listener = new Client(config);
const speaker = new Client(config);
const heard = [];
listener.on("notification", (message) => heard.push([message.channel, message.payload]));
const until = async (count) => {
  for (let round = 0; round < 200 && heard.length < count; round++) await new Promise((done) => setTimeout(done, 50));
  return heard;
};

tour(
  [
    ["connect", () => Promise.all([listener.connect(), speaker.connect()])],
    ["listen", () => listener.query("LISTEN tour")],
    ["notify", () => speaker.query("NOTIFY tour, 'one'")],
    ["pg_notify", () => speaker.query("SELECT pg_notify($1, $2)", ["tour", "two"])],
    ["heard", async () => equal(await until(2), [["tour", "one"], ["tour", "two"]])],
  ],
  () => Promise.all([listener.end(), speaker.end()]),
);
