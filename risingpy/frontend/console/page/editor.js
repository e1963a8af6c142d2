// The SQL editor: results as they come, errors at their place, plans as pictures, and live changes.

import { Refused, cancel, run } from "./api.js";
import { byId, duration, make } from "./dom.js";
import { operators, picture } from "./plan.js";

const KEPT = "risingpy-console-text";
const LIVE_ROWS = 500; // of a live result, the newest are kept
const RETRACTED = new Set(["Delete", "UpdateDelete"]);
let names = 0;

export class Editor {
  constructor() {
    [this.text, this.output] = [byId("text"), byId("results")];
    this.text.value = sessionStorage.getItem(KEPT) ?? "";
    this.running = null;
    byId("run").addEventListener("click", () => this.run());
    byId("explain").addEventListener("click", () => this.run("EXPLAIN "));
    byId("cancel").addEventListener("click", () => this.cancel());
    byId("sql").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.run();
      if (event.key === "Escape") this.cancel();
    });
  }

  /** Puts a text there, and runs it. */
  show(text) {
    this.text.value = text;
    this.run();
  }

  async cancel() {
    if (this.running) await cancel(this.running.name).catch(() => null);
  }

  /** Runs the marked part of the text, or all of it. What runs still is ended before. */
  async run(before = "") {
    sessionStorage.setItem(KEPT, this.text.value);
    this.running?.leave.abort();
    const [start, end] = [this.text.selectionStart, this.text.selectionEnd];
    const marked = start !== end && this.text.value.slice(start, end).trim();
    const mine = { name: `${Date.now()}-${(names += 1)}`, leave: new AbortController() };
    const sql = marked ? this.text.value.slice(start, end) : this.text.value;
    this.#runs(mine);
    this.output.replaceChildren(make("p", { class: "soft" }, "…"));
    const answer = new Answer(this.output);
    try {
      const limit = Math.min(Math.max(Number(byId("limit").value) || 500, 1), 10000);
      for await (const line of run(before + sql, { limit, name: mine.name, signal: mine.leave.signal })) {
        if (line.error) this.#error(line.error, sql, before.length, marked ? start : 0);
        else answer.take(line);
      }
    } catch (error) {
      if (!mine.leave.signal.aborted) answer.failed(error instanceof Refused ? error.message : "the server does not answer");
      if (error instanceof Refused && error.status === 401) dispatchEvent(new Event("logged-out"));
    } finally {
      if (this.running === mine) this.#runs(null);
    }
  }

  #runs(what) {
    this.running = what;
    byId("cancel").disabled = !what;
  }

  /** As psql shows it, with the caret below the place; and the place is chosen in the text. */
  #error(error, sql, before, offset) {
    const box = make("div", { class: "error", role: "alert" },
      make("p", { class: "failure" }, `ERROR ${error.sqlstate}: ${error.message}`));
    for (const name of ["detail", "hint"]) if (error[name]) box.append(make("p", {}, `${name.toUpperCase()}: ${error[name]}`));
    const place = error.position === null ? -1 : error.position - 1 - before;
    const characters = Array.from(sql); // positions count characters, a text in JavaScript counts halves of some
    if (place >= 0 && place <= characters.length) {
      const above = characters.slice(0, place).join("");
      const line = above.split("\n").length;
      const column = Array.from(above.split("\n").at(-1)).length;
      const lead = `LINE ${line}: `;
      box.append(make("pre", {}, `${lead}${sql.split("\n")[line - 1]}\n${" ".repeat(lead.length + column)}^`));
      const at = offset + above.length;
      const word = /^[\p{L}\p{N}_$]+/u.exec(this.text.value.slice(at))?.[0] ?? " ";
      this.text.focus();
      this.text.setSelectionRange(at, at + word.length);
    }
    if (this.output.firstElementChild?.textContent === "…") this.output.replaceChildren();
    this.output.append(box);
  }
}

/** What has come of one text. */
class Answer {
  constructor(output) {
    [this.output, this.began] = [output, false];
  }

  take(line) {
    if (!this.began && (line.fields || line.tag !== undefined || line.notice)) {
      this.began = true;
      this.output.replaceChildren();
    }
    if (line.fields) this.#fields(line.fields);
    else if (line.columns) this.#rows(line.columns);
    else if (line.notice) this.output.append(make("p", { class: "soft" }, `${line.notice.severity}: ${line.notice.message}`));
    else if (line.tag !== undefined) this.#end(line);
    else if (line.done !== undefined) this.output.append(make("p", { class: "soft" }, duration(line.done)));
  }

  failed(text) {
    this.output.replaceChildren(make("p", { class: "failure", role: "alert" }, text));
  }

  #fields(fields) {
    this.fields = fields;
    this.kept = [];
    this.live = fields.findIndex((field) => field.name === "op");
    this.body = make("tbody");
    const head = fields.map((field) => make("th", { scope: "col" }, field.name, make("small", {}, field.type)));
    this.box = make("div", { class: "scroll", tabindex: "0" }, make("table", {}, make("thead", {}, make("tr", {}, ...head)), this.body));
    this.output.append(this.box);
  }

  #rows(columns) {
    const numbers = this.fields.map((field) => /^(smallint|integer|bigint|real|double|numeric)/u.test(field.type));
    const rows = document.createDocumentFragment();
    for (let i = 0; i < columns[0].length; i++) {
      const cells = columns.map((column, k) => (column[i] === null
        ? make("td", { class: "null" }, "NULL")
        : make("td", { class: numbers[k] ? "number" : "text" }, column[i])));
      const retracted = this.live >= 0 && RETRACTED.has(columns[this.live][i]);
      rows.append(make("tr", retracted ? { class: "retracted" } : {}, ...cells));
      this.kept.push(columns.map((column) => column[i]));
    }
    if (this.live >= 0) { // the newest on top
      this.body.prepend(...[...rows.children].reverse());
      while (this.body.childElementCount > LIVE_ROWS) this.body.lastElementChild.remove();
      this.kept.length = 0;
    } else this.body.append(rows);
  }

  #end({ tag, more }) {
    if (this.fields) this.#picture();
    this.fields = null;
    this.output.append(make("p", { class: "soft" }, more ? `${tag}: the first rows; there are more` : tag));
  }

  #picture() {
    const [first] = this.fields;
    if (!["QUERY PLAN", "identity"].includes(first.name) || !this.kept.length) return;
    const found = operators(this.kept.map((row) => row[0]));
    if (!found) return;
    const rows = this.kept.map((row) => Object.fromEntries(this.fields.map((field, k) => [field.name, row[k]])));
    this.box.before(picture(found, this.fields.length > 1 ? rows : []));
  }
}
