// Epochs over time: a bar each, with its phases.

import { byId, count, draw, duration, make } from "./dom.js";

const PHASES = ["plan", "run", "commit", "publish"];
const [WIDTH, HEIGHT] = [1200, 220];

export function showEpochs(model) {
  const epochs = [...model.epochs].reverse();
  const key = PHASES.flatMap((phase) => [make("span", { class: `key ${phase}` }), phase]);
  const newest = epochs.at(-1);
  const facts = [
    ["newest commit", model.store.committed_at ?? "none"],
    ["its rows", newest ? count(Number(newest.rows)) : ""],
    ["it took", newest ? duration(Number(newest.total_ms)) : ""],
    ["state on disk", `${(Number(model.store.data_bytes ?? 0) / 2 ** 20).toFixed(1)} MB`],
    ["write-ahead log", `${(Number(model.store.log_bytes ?? 0) / 2 ** 20).toFixed(1)} MB`],
    ["failing", model.store.epoch_failure],
  ].filter(([, value]) => value);
  byId("epochs").replaceChildren(
    make("h2", {}, `The last ${epochs.length} epochs, the newest on the right`),
    epochs.length ? chart(epochs) : make("p", { class: "soft" }, "No epoch has had anything to do since the server started."),
    make("p", {}, "Phases:", ...key),
    make("dl", {}, ...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])),
  );
}

function chart(epochs) {
  const most = Math.max(...epochs.map((epoch) => Number(epoch.total_ms)), 1);
  const step = WIDTH / Math.max(epochs.length, 40);
  const svg = draw("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `Durations of ${epochs.length} epochs, at most ${duration(most)}` });
  for (const share of [0.25, 0.5, 0.75]) {
    svg.append(draw("line", { x1: 0, x2: WIDTH, y1: HEIGHT * share, y2: HEIGHT * share }));
  }
  epochs.forEach((epoch, i) => {
    let y = HEIGHT;
    const bar = draw("g", {}, draw("title", {}, [
      epoch.began_at, `${epoch.rows} rows, ${duration(Number(epoch.total_ms))}`,
      ...PHASES.map((phase) => `${phase} ${duration(Number(epoch[`${phase}_ms`]))}`),
      epoch.is_one_task === "t" ? "one task" : "a task for each shard",
    ].join("\n")));
    for (const phase of PHASES) {
      const tall = (Number(epoch[`${phase}_ms`]) / most) * (HEIGHT - 14);
      y -= tall;
      bar.append(draw("rect", { class: phase, x: i * step, y, width: step * 0.8, height: tall }));
    }
    svg.append(bar);
  });
  return make("div", {}, make("p", { class: "soft" }, `The highest bar is ${duration(most)}.`), svg);
}
