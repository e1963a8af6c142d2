// Pages that are tables: relations, jobs, errors.

import { byId, bytes, count, duration, make, setText } from "./dom.js";

const COLUMNS = [
  ["Relation", (n) => `${n.schema}.${n.name}`], ["Kind", (n) => n.kind], ["Status", (n) => n.status ?? ""],
  ["Rows", (n) => count(n.rows)], ["Size", (n) => bytes(n.bytes)], ["State", (n) => bytes(n.state || null)],
  ["In/s", (n) => count(n.inRate)], ["Out/s", (n) => count(n.outRate)],
  ["CPU", (n) => `${(n.busyShare * 100).toFixed(1)} %`], ["Behind", (n) => n.lag || duration(n.behind)],
];

/** Every relation in a row; rows are made when relations come or go, and else only changed. */
export class RelationList {
  constructor(model, open) {
    [this.model, this.open, this.version] = [model, open, -1];
  }

  update() {
    if (this.version !== this.model.version) {
      this.version = this.model.version;
      this.rows = new Map([...this.model.nodes.values()].map((node) => [node.id, this.#row(node)]));
      const head = make("tr", {}, ...COLUMNS.map(([name]) => make("th", { scope: "col" }, name)));
      byId("list").replaceChildren(make("table", {}, make("thead", {}, head),
        make("tbody", {}, ...[...this.rows.values()].map(({ row }) => row))));
    }
    for (const [id, { row, cells }] of this.rows) {
      const node = this.model.nodes.get(id);
      row.className = node.problem ? "bad" : "";
      COLUMNS.forEach(([, shown], k) => { if (k) setText(cells[k], shown(node)); });
    }
  }

  #row(node) {
    const link = make("a", { href: "#graph", onclick: () => this.open(node.id) }, `${node.schema}.${node.name}`);
    const cells = COLUMNS.map((_, k) => make("td", k > 2 ? { class: "number" } : {}, k ? "" : link));
    return { row: make("tr", {}, ...cells), cells };
  }
}

/** Views, sinks and indexes in creation. `cancel(id)` ends one. */
export function showJobs(model, cancel) {
  const lines = model.jobs.map((job) => {
    const total = Number(job.total_rows ?? 0);
    const bar = total ? make("progress", { max: total, value: Math.min(Number(job.rows_read), total) }) : "";
    const left = job.seconds_left === null ? "" : `${duration(Number(job.seconds_left) * 1000)} left`;
    const button = make("button", { type: "button", onclick: () => cancel(job.ddl_id) }, "Cancel");
    return make("tr", {},
      make("td", { class: "text" }, job.ddl_statement), make("td", {}, job.create_type), make("td", {}, bar),
      make("td", { class: "number" }, `${count(Number(job.rows_read))}${total ? ` of ${count(total)}` : ""}`),
      make("td", { class: "number" }, `${count(Number(job.rows_per_second))}/s`), make("td", {}, left),
      make("td", {}, button));
  });
  const head = ["Statement", "Kind", "", "Rows", "Rate", "", ""].map((name) => make("th", { scope: "col" }, name));
  const focused = byId("jobs").contains(document.activeElement);
  byId("jobs").replaceChildren(make("h2", {}, "In creation"),
    lines.length
      ? make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...lines))
      : make("p", { class: "soft" }, "Nothing is being created."));
  if (focused) byId("jobs").querySelector("button")?.focus();
}

/** What goes wrong, and the last messages that did not decode. */
export function showErrors(model, open) {
  const problems = model.problems().map(({ node, text, bad }) => make("tr", { class: bad ? "bad" : "" },
    make("td", {}, make("a", { href: "#graph", onclick: () => open(node.id) }, `${node.schema}.${node.name}`)),
    make("td", {}, node.kind), make("td", {}, text)));
  const messages = model.messages.map((row) => make("tr", {},
    ...[row.source_name, row.partition, row.offset, row.time, row.reason].map((text) => make("td", {}, text ?? "")),
    make("td", { class: "text" }, row.message ?? "")));
  const parts = [make("h2", {}, "Relations")];
  if (model.store.epoch_failure) {
    parts.push(make("p", { class: "failure" }, `The last epoch failed, and is tried again: ${model.store.epoch_failure}`));
  }
  parts.push(problems.length ? make("table", {}, make("tbody", {}, ...problems)) : make("p", { class: "soft" }, "No errors."));
  if (messages.length) {
    const head = ["Source", "Partition", "Offset", "Time", "Reason", "Message"];
    parts.push(make("h2", {}, "Messages that did not decode"), make("div", { class: "scroll" }, make("table", {},
      make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, ...messages))));
  }
  byId("errors").replaceChildren(...parts);
}
