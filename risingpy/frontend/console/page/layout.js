// Places boxes in layers from left to right: what is read stands left of who reads it.

const GAP_X = 110;
const GAP_Y = 16;
const SWEEPS = 4;
const MOST_WITH_BENDS = 400; // boxes of a part: with more, nobody follows a line with the eyes

/**
 * nodes: [{id}], edges: [{from, to}]. Returns {places: Map(id → {x, y}), bends: Map("from to" → ids), width, height}:
 * an edge goes over the places of its bends, past the boxes between its ends.
 * Each connected part is laid out alone; the parts stand in rows, the largest first.
 */
export function layout(nodes, edges, { width, height }) {
  const links = linked(nodes, edges);
  const parts = connected(nodes, links)
    .map((part) => placed(part, links, width, height))
    .sort((a, b) => b.height - a.height || b.width - a.width);
  return packed(parts, width + GAP_X / 2);
}

function linked(nodes, edges) {
  const links = new Map(nodes.map((node) => [node.id, { before: [], after: [] }]));
  for (const { from, to } of edges) {
    if (from === to || !links.has(from) || !links.has(to)) continue;
    links.get(from).after.push(to);
    links.get(to).before.push(from);
  }
  return links;
}

function connected(nodes, links) {
  const seen = new Set();
  const parts = [];
  for (const { id } of nodes) {
    if (seen.has(id)) continue;
    seen.add(id);
    const part = [id];
    for (let i = 0; i < part.length; i++) {
      const { before, after } = links.get(part[i]);
      for (const other of [...before, ...after]) {
        if (!seen.has(other)) {
          seen.add(other);
          part.push(other);
        }
      }
    }
    parts.push(part);
  }
  return parts;
}

/** The length of the longest way to each node; a sink into a table may close a circle, which is cut there. */
function depths(part, links) {
  const depth = new Map();
  const missing = new Map(part.map((id) => [id, links.get(id).before.length]));
  const ready = part.filter((id) => missing.get(id) === 0);
  const left = new Set(part);
  for (;;) {
    if (!ready.length) {
      const next = left.values().next();
      if (next.done) return depth;
      ready.push(next.value);
    }
    const id = ready.shift();
    if (!left.delete(id)) continue;
    depth.set(id, Math.max(0, ...links.get(id).before.filter((b) => depth.has(b)).map((b) => depth.get(b) + 1)));
    for (const other of links.get(id).after) {
      missing.set(other, missing.get(other) - 1);
      if (missing.get(other) === 0) ready.push(other);
    }
  }
}

function placed(part, links, width, height) {
  const depth = depths(part, links);
  const layers = [];
  for (const id of part) (layers[depth.get(id)] ??= []).push(id);
  const { near, bends } = withBends(part, links, depth, layers);
  const rank = new Map();
  const number = (layer) => layer.forEach((id, i) => rank.set(id, i));
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const side = sweep % 2 ? "after" : "before";
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      const mean = new Map(layer.map((id) => [id, middle(near.get(id)[side], rank) ?? rank.get(id)]));
      layer.sort((a, b) => mean.get(a) - mean.get(b));
      number(layer);
    }
  }
  const most = Math.max(...layers.map((layer) => layer.length));
  const tall = most * (height + GAP_Y) - GAP_Y;
  const places = new Map();
  layers.forEach((layer, column) => {
    const own = layer.length * (height + GAP_Y) - GAP_Y;
    layer.forEach((id, row) => {
      places.set(id, { x: column * (width + GAP_X), y: (tall - own) / 2 + row * (height + GAP_Y) });
    });
  });
  return { places, bends, width: layers.length * (width + GAP_X) - GAP_X, height: tall };
}

/** An edge over several layers takes a place in each, so that it goes past the boxes there and not behind them. */
function withBends(part, links, depth, layers) {
  const near = new Map(part.map((id) => [id, { before: [], after: [] }]));
  const bends = new Map();
  for (const from of part) {
    for (const to of links.get(from).after) {
      const chain = [from];
      const long = depth.get(to) - depth.get(from) > 1 && part.length <= MOST_WITH_BENDS;
      for (let column = depth.get(from) + 1; long && column < depth.get(to); column++) {
        const bend = `bend ${from} ${to} ${column}`;
        near.set(bend, { before: [], after: [] });
        layers[column].push(bend);
        chain.push(bend);
      }
      if (long) bends.set(`${from} ${to}`, chain.slice(1));
      chain.push(to);
      for (let i = 1; i < chain.length; i++) {
        near.get(chain[i]).before.push(chain[i - 1]);
        near.get(chain[i - 1]).after.push(chain[i]);
      }
    }
  }
  return { near, bends };
}

function middle(ids, rank) {
  return ids.length ? ids.reduce((sum, id) => sum + rank.get(id), 0) / ids.length : null;
}

function packed(parts, gap) {
  const area = parts.reduce((sum, part) => sum + (part.width + gap) * (part.height + 30), 0);
  const widest = Math.max(Math.sqrt(area * 1.6), ...parts.map((part) => part.width), 1);
  const [places, bends] = [new Map(), new Map()];
  let [x, y, tallest, width] = [0, 0, 0, 0];
  for (const part of parts) {
    if (x && x + part.width > widest) [x, y, tallest] = [0, y + tallest + 30, 0];
    for (const [edge, ids] of part.bends) bends.set(edge, ids);
    for (const [id, place] of part.places) places.set(id, { x: x + place.x, y: y + place.y });
    width = Math.max(width, x + part.width);
    tallest = Math.max(tallest, part.height);
    x += part.width + gap;
  }
  return { places, bends, width, height: y + tallest };
}

/** The line of an edge from box to box, over its bends. */
export function line({ from, to }, places, bends, { width, height }) {
  const stops = [from, ...(bends.get(`${from} ${to}`) ?? []), to].map((id) => places.get(id));
  const middles = stops.map(({ x, y }) => ({ x, y: y + height / 2 }));
  let path = `M${middles[0].x + width} ${middles[0].y}`;
  for (let i = 1; i < middles.length; i++) {
    const [a, b] = [{ x: middles[i - 1].x + width, y: middles[i - 1].y }, middles[i]];
    const bend = Math.max((b.x - a.x) / 2, 30);
    path += `C${a.x + bend} ${a.y} ${b.x - bend} ${b.y} ${b.x} ${b.y}`;
    if (i < middles.length - 1) path += `H${b.x + width}`;
  }
  const [start, next] = middles;
  return { path, label: { x: (start.x + width + next.x) / 2, y: (start.y + next.y) / 2 } };
}
