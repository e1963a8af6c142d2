// The way to the database: a text of SQL, run as the user who has logged in.

const KEPT = "risingpy-console-login"; // of this tab alone, and gone with it
let login = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const who = () => login;

async function post(action, body, signal) {
  const headers = { "Content-Type": "application/json", "X-RisingPy-Console": "1" };
  if (login) headers.Authorization = `Bearer ${login.token}`;
  const answer = await fetch(action, { method: "POST", headers, body: JSON.stringify(body), signal });
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({}));
    throw new Refused(answer.status, told.error ?? answer.statusText);
  }
  return answer;
}

export async function logIn(user, password, database) {
  login = await (await post("login", { user, password, database })).json();
  sessionStorage.setItem(KEPT, JSON.stringify(login));
}

export async function logOut() {
  await post("logout", {}).catch(() => null);
  forget();
}

export function forget() {
  login = null;
  sessionStorage.removeItem(KEPT);
}

/** The lines of a text's answer, as they come. Leaving the loop, or `signal`, ends the text at the server. */
export async function* run(sql, { limit = 500, name = "", signal } = {}) {
  const reader = (await post("run", { sql, limit, name }, signal)).body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop();
      for (const line of lines) yield JSON.parse(line);
    }
  } finally {
    reader.cancel().catch(() => null);
  }
}

export const cancel = (name) => post("cancel", { name });

export class SqlFailure extends Error {
  constructor(error) {
    super(error.message);
    this.error = error;
  }
}

/** All results of a text, each as rows that are objects by column; and how long the server took. */
export async function results(sql, limit = 10000) {
  const found = [];
  let fields = [];
  let rows = [];
  let milliseconds = 0;
  for await (const line of run(sql, { limit })) {
    if (line.fields) fields = line.fields.map((field) => field.name);
    else if (line.columns) rows.push(...toRows(line.columns, fields));
    else if (line.tag !== undefined) {
      found.push(rows);
      [fields, rows] = [[], []];
    } else if (line.error) throw new SqlFailure(line.error);
    else if (line.done !== undefined) milliseconds = line.done;
  }
  return { results: found, milliseconds };
}

function toRows(columns, fields) {
  return (columns[0] ?? []).map((_, i) => Object.fromEntries(fields.map((name, k) => [name, columns[k][i]])));
}
