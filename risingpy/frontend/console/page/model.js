// What the pages show: read by SQL, compared with the time before.

import { results } from "./api.js";

const FIGURES = `
SELECT id, schema_name, name, relation_type, status, rows_in, rows_out, busy_ms, error_count, stored_rows,
  stored_bytes, state_bytes, target_id FROM rw_catalog.rw_relation_stats;
SELECT source_id, job_id, job_name, split, lag, bad_messages, failure FROM rw_catalog.rw_source_lag;
SELECT sink_id, status, lag_milliseconds, backlog_bytes, delivered_rows, failure FROM rw_catalog.rw_sink_lag;
SELECT ddl_id, ddl_statement, create_type, rows_read, total_rows, rows_per_second, seconds_left
  FROM rw_catalog.rw_ddl_progress;
SELECT id, reason, behind_ms FROM rw_catalog.rw_set_aside_jobs;
SELECT committed_at, data_bytes, log_bytes, epoch_failure FROM rw_catalog.rw_state_store`;
const EDGES = "SELECT objid, refobjid FROM rw_catalog.rw_depend";
const EPOCHS = `SELECT epoch, began_at, rows, is_one_task, plan_ms, run_ms, commit_ms, publish_ms, total_ms
  FROM rw_catalog.rw_epochs LIMIT 120`;
const BAD_MESSAGES = `SELECT source_name, partition, "offset", time, reason, message FROM rw_catalog.rw_source_errors
  ORDER BY time DESC LIMIT 200`;
const EDGES_SECONDS = 60; // a relation may be replaced under its name: the edges are read again then, too

const LATE_MS = 10_000; // a view or a sink that is further behind is shown in red
const number = (text) => (text === null || text === undefined ? null : Number(text));

export class Model {
  constructor() {
    this.nodes = new Map(); // by id
    this.edges = [];
    this.version = 0; // another one: other nodes, or other edges
    this.jobs = [];
    this.lags = [];
    this.epochs = [];
    this.messages = [];
    this.store = {};
    this.read = 0; // when, in milliseconds
  }

  /** Reads everything that `page` shows; returns how many milliseconds the server took. */
  async refresh(page) {
    const answer = await results(FIGURES);
    let { milliseconds } = answer;
    const [stats, sourceLags, sinkLags, jobs, aside, [store]] = answer.results;
    const now = performance.now();
    const seconds = this.read ? (now - this.read) / 1000 : 0;
    this.read = now;
    this.#nodes(stats, seconds);
    this.#lags(sourceLags, sinkLags, aside, seconds);
    this.jobs = jobs;
    this.store = store ?? {};
    milliseconds += await this.#readEdges(stats, now);
    if (page === "epochs") milliseconds += await this.#read(EPOCHS, (rows) => { this.epochs = rows; });
    if (page === "errors") milliseconds += await this.#read(BAD_MESSAGES, (rows) => { this.messages = rows; });
    return milliseconds;
  }

  async #read(sql, take) {
    const answer = await results(sql);
    take(answer.results[0]);
    return answer.milliseconds;
  }

  #nodes(stats, seconds) {
    const before = this.nodes;
    this.nodes = new Map();
    for (const row of stats) {
      const node = {
        id: row.id, schema: row.schema_name, name: row.name, kind: row.relation_type, status: row.status,
        rowsIn: number(row.rows_in), rowsOut: number(row.rows_out), busy: number(row.busy_ms),
        errors: number(row.error_count), rows: number(row.stored_rows), bytes: number(row.stored_bytes),
        state: number(row.state_bytes), target: row.target_id,
        inRate: 0, outRate: 0, busyShare: 0, lag: "", problem: "", behind: null,
      };
      const old = before.get(row.id);
      if (old && seconds) {
        node.inRate = Math.max(node.rowsIn - old.rowsIn, 0) / seconds;
        node.outRate = Math.max(node.rowsOut - old.rowsOut, 0) / seconds;
        node.busyShare = Math.max(node.busy - old.busy, 0) / seconds / 1000;
        node.delivered = old.delivered;
      }
      if (node.status === "Failed") node.problem = "failed: the server's log says why; RECOVER makes it anew";
      this.nodes.set(node.id, node);
    }
  }

  #lags(sourceLags, sinkLags, aside, seconds) {
    this.lags = new Map(); // "source job" → positions that are not read yet
    for (const row of sourceLags) {
      const node = this.nodes.get(row.source_id) ?? this.nodes.get(row.job_id);
      if (node && row.failure) node.problem = row.failure;
      if (node && Number(row.bad_messages)) node.badMessages = (node.badMessages ?? 0) + Number(row.bad_messages);
      if (row.lag === null) continue;
      const key = `${row.source_id} ${row.job_id}`;
      this.lags.set(key, (this.lags.get(key) ?? 0) + Number(row.lag));
      if (!this.nodes.has(row.source_id) && node) node.lag = `source lag ${this.lags.get(key)}`;
    }
    for (const row of sinkLags) {
      const node = this.nodes.get(row.sink_id);
      if (!node) continue;
      const delivered = Number(row.delivered_rows);
      if (node.target === null) {
        node.outRate = seconds && node.delivered !== undefined ? Math.max(delivered - node.delivered, 0) / seconds : 0;
        node.rowsOut = delivered;
      }
      node.delivered = delivered;
      node.behind = number(row.lag_milliseconds);
      node.status = row.status;
      if (row.failure) node.problem = row.failure;
    }
    for (const row of aside) {
      const node = this.nodes.get(Number(row.id)) ?? this.nodes.get(row.id);
      if (node) [node.behind, node.aside] = [Number(row.behind_ms), row.reason];
    }
  }

  async #readEdges(stats, now) {
    const key = stats.map((row) => `${row.id}${row.name}`).join();
    if (key === this.key && now < this.edgesRead + EDGES_SECONDS * 1000) return 0;
    return this.#read(EDGES, (rows) => {
      const edges = [];
      for (const { objid, refobjid } of rows) {
        const [to, from] = this.nodes.get(objid)?.target === refobjid ? [refobjid, objid] : [objid, refobjid];
        if (this.nodes.has(to) && this.nodes.has(from)) edges.push({ id: `${from} ${to}`, from, to });
      }
      const shape = edges.map((edge) => edge.id).join();
      if (key !== this.key || shape !== this.shape) this.version += 1;
      [this.key, this.shape, this.edges, this.edgesRead] = [key, shape, edges, now];
    });
  }

  /** What stands on an edge: how many rows a second go over it, and how far its end is behind. */
  onEdge({ from, to }) {
    const [upstream, downstream] = [this.nodes.get(from), this.nodes.get(to)];
    if (!upstream || !downstream) return { rate: 0, lag: "", bad: false };
    const positions = this.lags.get(`${from} ${to}`);
    const late = downstream.behind !== null && downstream.behind > LATE_MS;
    const lags = [];
    if (positions) lags.push(`lag ${positions}`);
    if (downstream.behind) lags.push(`${Math.round(downstream.behind / 100) / 10} s behind`);
    return { rate: upstream.outRate, lag: lags.join(", "), bad: late || Boolean(downstream.problem) };
  }

  /** The lines of the page of errors, the worst first. */
  problems() {
    const found = [];
    for (const node of this.nodes.values()) {
      if (node.problem) found.push({ node, text: node.problem, bad: true });
      if (node.aside) found.push({ node, text: `set aside: ${node.aside}`, bad: false });
      if (node.errors) found.push({ node, text: `${node.errors} expressions failed and became NULL`, bad: false });
      if (node.badMessages) found.push({ node, text: `${node.badMessages} messages did not decode`, bad: false });
    }
    return found.sort((a, b) => Number(b.bad) - Number(a.bad));
  }
}
