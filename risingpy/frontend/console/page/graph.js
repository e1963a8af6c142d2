// The live graph: drawn anew when relations come or go; otherwise only texts and colours that have changed.

import { byId, bytes, count, draw, duration, make, quoted, setClass, setText, shortened } from "./dom.js";
import { layout, line } from "./layout.js";

export const NODE = { width: 190, height: 52 };
const FAR = 0.45; // below this scale, texts cannot be read, and are not painted
const SHORT_KINDS = { "materialized view": "view", subscription: "sink" };

export class Graph {
  constructor(model, details) {
    this.model = model;
    this.details = details;
    this.svg = byId("drawing");
    this.world = draw("g");
    this.svg.append(this.world);
    this.version = -1;
    this.chosen = null;
    this.view = { x: 0, y: 0, scale: 1 };
    this.size = { width: 1, height: 1 };
    this.#listen();
  }

  update() {
    byId("graph").querySelector(".empty").hidden = this.model.nodes.size > 0;
    if (this.version !== this.model.version) this.#redraw();
    for (const [id, parts] of this.nodes) this.#showNode(this.model.nodes.get(id), parts);
    for (const [edge, parts] of this.edges) this.#showEdge(edge, parts);
    if (this.chosen && !this.model.nodes.has(this.chosen)) this.choose(null);
    this.details.update(this.chosen);
  }

  #redraw() {
    const first = this.version < 0 || !this.nodes.size;
    this.version = this.model.version;
    const nodes = [...this.model.nodes.values()];
    const { places, bends, width, height } = layout(nodes, this.model.edges, NODE);
    [this.places, this.bends, this.size] = [places, bends, { width, height }];
    this.edges = this.model.edges.map((edge) => [edge, this.#edge(edge)]);
    this.nodes = new Map(nodes.map((node) => [node.id, this.#node(node)]));
    this.world.replaceChildren(...this.edges.map(([, parts]) => parts.group),
      ...[...this.nodes.values()].map((parts) => parts.group));
    this.search(byId("search").value);
    if (first) this.fit();
  }

  #node(node) {
    const { x, y } = this.places.get(node.id);
    const kind = draw("text", { class: "kind", x: 8, y: 14 }, node.kind);
    const figures = draw("text", { x: 8, y: 45 });
    const group = draw("g", { transform: `translate(${x} ${y})`, "data-id": node.id },
      draw("rect", { ...NODE, rx: 6 }), kind,
      draw("text", { class: "name", x: 8, y: 30 }, shortened(node.name, 23)), figures,
      draw("title", {}, `${node.schema}.${node.name}`));
    return { group, kind, figures };
  }

  #showNode(node, { group, kind, figures }) {
    if (!node) return;
    const words = ["node", SHORT_KINDS[node.kind] ?? node.kind];
    if (node.problem) words.push("bad");
    if (node.id === this.chosen) words.push("chosen");
    if (this.hidden?.has(node.id)) words.push("faint");
    setClass(group, words.join(" "));
    setText(kind, node.status && !["Created", "running"].includes(node.status) ? `${node.kind} · ${node.status}` : node.kind);
    const parts = [];
    if (node.rows !== null && node.kind !== "sink") parts.push(`${count(node.rows)} rows`);
    if (node.state) parts.push(`state ${bytes(node.state)}`);
    if (node.outRate) parts.push(`${count(node.outRate)}/s`);
    setText(figures, node.lag || parts.slice(-2).join(" · "));
  }

  #edge(edge) {
    const { path, label: at } = line(edge, this.places, this.bends, NODE);
    const label = draw("text", { x: at.x, y: at.y - 5 });
    const lag = draw("text", { x: at.x, y: at.y + 12 });
    return { group: draw("g", {}, draw("path", { d: path }), label, lag), label, lag };
  }

  #showEdge(edge, { group, label, lag }) {
    const shown = this.model.onEdge(edge);
    const words = ["edge"];
    if (shown.rate) words.push("busy");
    if (shown.bad) words.push("bad");
    if (this.hidden?.has(edge.from) || this.hidden?.has(edge.to)) words.push("faint");
    setClass(group, words.join(" "));
    setText(label, shown.rate ? `${count(shown.rate)}/s` : "");
    setText(lag, shown.lag);
  }

  /** What does not have the words in its name is faint; the first that has comes into sight. */
  search(text) {
    const words = text.trim().toLowerCase();
    const matches = (node) => `${node.schema}.${node.name}`.toLowerCase().includes(words);
    const found = words ? [...this.model.nodes.values()].filter(matches) : [];
    this.hidden = words ? new Set(this.model.nodes.keys()) : null;
    found.forEach((node) => this.hidden.delete(node.id));
    if (found.length) this.#bring(found[0].id);
    return found;
  }

  choose(id) {
    this.chosen = id;
    if (id) this.#bring(id);
    this.details.show(id);
    this.update();
  }

  fit() {
    const { width, height } = this.svg.getBoundingClientRect();
    const scale = Math.min((width - 30) / this.size.width, (height - 30) / this.size.height, 1.2);
    this.view = {
      scale: Math.max(scale, 0.05),
      x: (width - this.size.width * scale) / 2,
      y: (height - this.size.height * scale) / 2,
    };
    this.#move();
  }

  zoom(factor, x, y) {
    const box = this.svg.getBoundingClientRect();
    const at = { x: x ?? box.width / 2, y: y ?? box.height / 2 };
    const scale = Math.min(Math.max(this.view.scale * factor, 0.05), 3);
    const ratio = scale / this.view.scale;
    this.view = { scale, x: at.x - (at.x - this.view.x) * ratio, y: at.y - (at.y - this.view.y) * ratio };
    this.#move();
  }

  #bring(id) {
    const place = this.places?.get(id);
    const { width, height } = this.svg.getBoundingClientRect();
    if (!place || !width) return;
    if (this.view.scale < FAR) this.view.scale = 0.9;
    const { scale } = this.view;
    const [left, top] = [place.x * scale + this.view.x, place.y * scale + this.view.y];
    const inside = left >= 0 && top >= 0 && left + NODE.width * scale <= width && top + NODE.height * scale <= height;
    if (!inside) {
      this.view.x = width / 2 - (place.x + NODE.width / 2) * scale;
      this.view.y = height / 2 - (place.y + NODE.height / 2) * scale;
    }
    this.#move();
  }

  #move() {
    const { x, y, scale } = this.view;
    this.world.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    setClass(this.world, scale < FAR ? "far" : "");
  }

  #listen() {
    const { svg } = this;
    let grip = null;
    svg.addEventListener("pointerdown", (event) => {
      grip = { x: event.clientX - this.view.x, y: event.clientY - this.view.y, moved: false, target: event.target };
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      if (!grip) return;
      const [x, y] = [event.clientX - grip.x, event.clientY - grip.y];
      if (!grip.moved && Math.abs(x - this.view.x) + Math.abs(y - this.view.y) < 4) return;
      grip.moved = true;
      Object.assign(this.view, { x, y });
      this.#move();
    });
    svg.addEventListener("pointerup", () => {
      if (grip && !grip.moved) this.choose(grip.target.closest(".node")?.dataset.id ?? null);
      grip = null;
    });
    svg.addEventListener("pointercancel", () => { grip = null; });
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = svg.getBoundingClientRect();
      this.zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    svg.addEventListener("keydown", (event) => this.#key(event));
    byId("fit").addEventListener("click", () => this.fit());
    byId("larger").addEventListener("click", () => this.zoom(1.25));
    byId("smaller").addEventListener("click", () => this.zoom(0.8));
    byId("search").addEventListener("input", (event) => { this.search(event.target.value); this.update(); });
    byId("search").addEventListener("keydown", (event) => {
      const [found] = event.key === "Enter" ? this.search(event.target.value) : [];
      if (found) this.choose(found.id);
    });
  }

  /** Arrow keys: to the nearest box in that direction. */
  #key(event) {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "+" || event.key === "-") this.zoom(event.key === "+" ? 1.25 : 0.8);
    if (event.key === "Escape") this.choose(null);
    if (event.key === "Enter" && this.chosen) {
      event.preventDefault(); // the button that has the focus then would take the key, too
      this.details.focus();
    }
    if (!way) return;
    event.preventDefault();
    const here = this.places.get(this.chosen);
    if (!here) {
      this.choose(this.nodes.keys().next().value ?? null);
      return;
    }
    let [best, nearest] = [null, Infinity];
    for (const id of this.nodes.keys()) {
      const place = this.places.get(id);
      const [dx, dy] = [place.x - here.x, place.y - here.y];
      const along = dx * way[0] + dy * way[1];
      const aside = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
      if (along > 1 && along + 2 * aside < nearest) [best, nearest] = [id, along + 2 * aside];
    }
    if (best) this.choose(best);
  }
}

/** The panel beside the graph: one relation, and what can be asked of it. */
export class Details {
  constructor(model, ask) {
    this.model = model;
    this.ask = ask; // {definition(node, where), sql(text), close()}
    this.panel = byId("details");
  }

  focus() {
    this.panel.querySelector(".bar button")?.focus();
  }

  show(id) {
    const node = this.model.nodes.get(id);
    this.panel.hidden = !node;
    this.panel.replaceChildren();
    if (!node) return;
    this.facts = make("dl");
    const place = `${quoted(node.schema)}.${quoted(node.name)}`;
    const answer = make("div");
    const button = (text, work) => make("button", { type: "button", onclick: work }, text);
    const buttons = make("div", { class: "bar" });
    if (["materialized view", "table", "index"].includes(node.kind)) {
      buttons.append(button("Plan", () => this.ask.sql(`EXPLAIN ANALYZE ${node.kind} ${place}`)));
    }
    buttons.append(button("Definition", () => this.ask.definition(node, answer)));
    if (["materialized view", "table", "view"].includes(node.kind)) {
      buttons.append(button("Rows", () => this.ask.sql(`SELECT * FROM ${place} LIMIT 100`)));
    }
    if (["materialized view", "table"].includes(node.kind)) {
      buttons.append(button("Watch", () => this.ask.sql(`SUBSCRIBE TO ${place}`)));
    }
    const close = make("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => this.ask.close() }, "×");
    this.panel.append(close, make("h2", {}, `${node.schema}.${node.name}`), this.facts, buttons, answer);
    this.update(id);
  }

  update(id) {
    const node = this.model.nodes.get(id);
    if (!node || !this.facts) return;
    const facts = [
      ["kind", node.kind], ["status", node.status ?? ""], ["rows", count(node.rows)], ["size", bytes(node.bytes)],
      ["state", bytes(node.state || null)], ["rows read", `${count(node.rowsIn)} (${count(node.inRate)}/s)`],
      ["rows changed", `${count(node.rowsOut)} (${count(node.outRate)}/s)`],
      ["CPU", `${(node.busyShare * 100).toFixed(1)} % of a core`], ["behind", duration(node.behind)],
      ["lag", node.lag], ["failed expressions", node.errors || ""], ["problem", node.problem],
    ].filter(([, value]) => value !== "");
    const text = facts.flat().join("\n");
    if (text === this.text && this.facts.childElementCount) return;
    this.text = text;
    this.facts.replaceChildren(...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, String(value))]));
  }
}
