// Pictures of plans: EXPLAIN's tree as boxes, each with what its operator has done and stores.

import { bytes, count, draw, duration, make, shortened } from "./dom.js";
import { layout, line } from "./layout.js";

const BOX = { width: 210, height: 66 };
const LINE = /^([\s│├└─]*)(\S.*)$/u;

/** The operators of a plan's lines: [{id, parent, name, rest, row}]; null if the lines are no tree of operators. */
export function operators(lines) {
  const found = [];
  const open = []; // the operators above, by depth
  for (const [i, line] of lines.entries()) {
    const [, lead, text] = LINE.exec(line) ?? [];
    if (text === undefined) return null;
    const [, name, rest] = /^([A-Z][A-Za-z]+)\b(.*)$/u.exec(text) ?? [];
    if (!name) return null;
    const depth = Math.round(lead.length / 2);
    open.length = Math.min(open.length, depth);
    found.push({ id: i, parent: open.at(-1) ?? null, name, rest: rest.trim(), row: i });
    open[depth] = i;
  }
  return found.length ? found : null;
}

/** The picture; `rows` are those of EXPLAIN ANALYZE with figures, in the order of the operators, or none. */
export function picture(found, rows = []) {
  const edges = found.filter((each) => each.parent !== null).map((each) => ({ from: each.id, to: each.parent }));
  const { places, bends, width, height } = layout(found, edges, BOX);
  const lines = edges.map((edge) => {
    const { path, label: at } = line(edge, places, bends, BOX);
    const sent = rows[edge.from]?.rows_out;
    return draw("g", { class: "edge" }, draw("path", { d: path }),
      draw("text", { x: at.x, y: at.y - 5 }, sent ? count(Number(sent)) : ""));
  });
  const boxes = found.map((each) => {
    const { x, y } = places.get(each.id);
    const row = rows[each.row] ?? {};
    const figures = [];
    if (row.time_ms) figures.push(duration(Number(row.time_ms)));
    if (row.state_bytes) figures.push(`state ${count(Number(row.state_rows))} rows, ${bytes(Number(row.state_bytes))}`);
    const lookups = Number(row.state_lookups ?? 0);
    const hits = lookups ? `\n${count(lookups)} lookups of state, ${count(Number(row.state_found))} found` : "";
    return draw("g", { class: "node view", transform: `translate(${x} ${y})` },
      draw("title", {}, `${each.name} ${each.rest}${hits}`), draw("rect", { ...BOX, rx: 6 }),
      draw("text", { class: "name", x: 8, y: 18 }, each.name),
      draw("text", { class: "kind", x: 8, y: 36 }, shortened(each.rest.replace(/^[{(]\s*|\s*[})]$/gu, ""), 36)),
      draw("text", { x: 8, y: 56 }, figures.join(" · ")));
  });
  const [wide, tall] = [width + 20, height + 20];
  const svg = draw("svg", { viewBox: `-10 -10 ${wide} ${tall}`, width: wide, height: tall, role: "img",
    "aria-label": `A plan of ${found.length} operators` }, ...lines, ...boxes);
  return make("div", { class: "picture", tabindex: "0" }, svg);
}
