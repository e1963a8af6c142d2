// Logs in, shows the page that the address names, and reads anew, as often as the server's time allows.

import { Refused, SqlFailure, forget, logIn, logOut, results, who } from "./api.js";
import { byId, make } from "./dom.js";
import { Editor } from "./editor.js";
import { showEpochs } from "./epochs.js";
import { Details, Graph } from "./graph.js";
import { RelationList, showErrors, showJobs } from "./lists.js";
import { Model } from "./model.js";

const PAGES = ["graph", "list", "epochs", "jobs", "errors", "sql"];
const SHORTEST_PAUSE = 2000; // milliseconds
const LONGEST_PAUSE = 30_000;
const SHARE = 0.0125; // of a core: what an open page may cost the server

const model = new Model();
const editor = new Editor();
const open = (id) => { location.hash = "#graph"; showPage(); graph.choose(id); };
const details = new Details(model, {
  definition: (node, where) => ask(where, `SELECT definition FROM rw_catalog.rw_relations WHERE id = ${Number(node.id)}`,
    ([rows]) => make("pre", {}, rows[0]?.definition ?? "")),
  sql: (text) => { location.hash = "#sql"; showPage(); editor.show(text); },
  close: () => graph.choose(null),
});
const graph = new Graph(model, details);
const list = new RelationList(model, open);

async function ask(where, sql, shown) {
  where.replaceChildren(make("p", { class: "soft" }, "…"));
  try {
    where.replaceChildren(shown((await results(sql)).results));
  } catch (error) {
    where.replaceChildren(make("p", { class: "failure", role: "alert" }, error.message));
  }
}

const page = () => (PAGES.includes(location.hash.slice(1)) ? location.hash.slice(1) : "graph");

function showPage() {
  const shown = who() ? page() : "login";
  for (const id of [...PAGES, "login"]) byId(id).hidden = id !== shown;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${shown}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.querySelector("nav").hidden = !who();
  byId("logout").hidden = !who();
  if (shown === "sql") byId("text").focus();
  if (model.read) showFigures();
}

function showFigures() {
  const problems = model.problems().filter((each) => each.bad).length + (model.store.epoch_failure ? 1 : 0);
  mark("#errors", "Errors", problems);
  mark("#jobs", "Jobs", model.jobs.length);
  switch (page()) {
    case "graph": graph.update(); break;
    case "list": list.update(); break;
    case "epochs": showEpochs(model); break;
    case "jobs": showJobs(model, (id) => cancelJob(id)); break;
    case "errors": showErrors(model, open); break;
  }
}

function mark(hash, name, number) {
  document.querySelector(`nav a[href="${hash}"]`).replaceChildren(name, ...(number ? [" ", make("b", {}, String(number))] : []));
}

function tell(text, bad = false) {
  byId("state").textContent = text;
  byId("state").className = bad ? "bad" : "";
}

let timer = 0;
let reading = false;

/** Reads and shows, then pauses: so long that the server's time is a small share, and until somebody looks. */
async function refresh() {
  clearTimeout(timer);
  if (!who() || document.hidden || reading) return;
  reading = true;
  let pause = SHORTEST_PAUSE;
  try {
    const milliseconds = await model.refresh(page());
    pause = Math.min(Math.max(milliseconds / SHARE, SHORTEST_PAUSE), LONGEST_PAUSE);
    showFigures();
    tell(`${who().user}@${who().database} · ${model.nodes.size} relations`);
    document.documentElement.dataset.live = String(Number(document.documentElement.dataset.live ?? 0) + 1);
  } catch (error) {
    if (error instanceof Refused && error.status === 401) loggedOut();
    else if (error instanceof Refused || error instanceof SqlFailure) tell(error.message, true);
    else tell("the server does not answer", true);
  } finally {
    reading = false;
    timer = setTimeout(refresh, pause);
  }
}

function cancelJob(id) {
  results(`CANCEL JOBS ${Number(id)}`).then(refresh, (error) => tell(error.message, true));
}

function loggedOut() {
  forget();
  tell("");
  showPage();
}

async function enter(user, password, database) {
  await logIn(user, password, database);
  showPage();
  await refresh();
}

byId("login").querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const { user, password, database } = Object.fromEntries(new FormData(event.target));
  const told = event.target.querySelector(".failure");
  told.textContent = "";
  enter(user, password, database || undefined).then(() => event.target.reset(), (error) => {
    told.textContent = error instanceof Refused ? error.message : "the server does not answer";
  });
});
byId("logout").addEventListener("click", () => logOut().then(loggedOut));
addEventListener("logged-out", loggedOut);
addEventListener("hashchange", () => { showPage(); refresh(); });
document.addEventListener("visibilitychange", refresh);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && page() === "graph" && !/^(INPUT|TEXTAREA)$/u.test(document.activeElement.tagName)) {
    event.preventDefault();
    byId("search").focus();
  }
});

if (who()) {
  showPage();
  refresh();
} else enter().catch(() => showPage()); // without users with passwords, everybody of this machine may come in
