// The session as a tree: rows by id, the path to a leaf, and the children of a row in a view.

const FILTERS = ["default", "noTools", "userOnly", "labeledOnly", "all"];
const ALL = FILTERS.length - 1;

const model = {
  session: {},
  rows: [],            // in the order of the log
  byId: new Map(),
  above: [],           // the row of each row's parent, -1 for none
  newest: [],          // the last row in each row's subtree, itself included
  tip: -1,             // the session's leaf
  leaf: -1,            // the leaf that the page shows

  // Replace what there is.
  load(data) {
    this.session = data.session;
    this.byId.clear();
    this.rows = [];
    this.above = [];
    this.newest = [];
    this.add(data.rows);
    this.tip = this.leaf = this.rowOf(data.session.leafId) ?? this.rows.length - 1;
  },

  // Add rows at the end of the log. In a damaged file a parent may come after its child.
  add(entries) {
    const first = this.rows.length;
    for (const entry of entries) {
      if (!this.byId.has(entry.id)) this.byId.set(entry.id, this.rows.length);
      this.rows.push(entry);
    }
    for (let row = first; row < this.rows.length; row++) {
      this.above.push(this.rowOf(this.rows[row].parentId) ?? -1);
      this.newest.push(row);
    }
    for (let row = this.rows.length - 1; row >= first; row--) {
      const newest = this.newest[row];
      for (let at = this.above[row], left = this.rows.length; at >= 0 && left && this.newest[at] < newest; left--) {
        this.newest[at] = newest;
        at = this.above[at];
      }
    }
    shapes.clear();
  },

  // Set the label of a row, which also changes the filters that show it.
  mark({id, label, filterMask}) {
    const row = this.rowOf(id);
    if (row !== undefined) this.rows[row] = {...this.rows[row], label, filterMask};
    shapes.clear();
  },

  rowOf(id) {
    return id === null || id === undefined ? undefined : this.byId.get(id);
  },

  // The rows from the root to a row. A cycle ends the walk.
  path(row) {
    const seen = new Set();
    const walk = [];
    for (let at = row; at >= 0 && !seen.has(at); at = this.above[at]) {
      seen.add(at);
      walk.push(at);
    }
    return walk.reverse();
  },

  shows(row, filter) {
    const entry = this.rows[row];
    if ((entry.filterMask >> filter) & 1) return true;
    return row === this.leaf && entry.role === "assistant" && filter < 2;
  },

  // Whether the transcript has a row. Labels, settings and messages that are not displayed are in it only with the
  // filter `all`. An assistant's message is, even where the tree shows only its tool calls' results.
  speaks(row, filter) {
    const {type, filterMask} = this.rows[row];
    return filterMask !== 0 && (filter === ALL || type === "message" || (filterMask & 1) !== 0);
  },

  // The text of a row, for the search.
  words(row) {
    const entry = this.rows[row];
    if (entry.words === undefined) {
      const box = document.createElement("template");
      box.innerHTML = entry.body ?? "";
      const text = [entry.heading, entry.preview, entry.label ?? "", box.content.textContent].join(" ");
      Object.defineProperty(entry, "words", {value: text.toLowerCase()});
    }
    return entry.words;
  },
};

// The children of each row in a view, cached per view.
const shapes = new Map();

function shapeOf(filter) {
  const key = `${filter} ${model.leaf}`;
  let shape = shapes.get(key);
  if (shape) return shape;
  const count = model.rows.length;
  const over = new Array(count).fill(-1);   // the nearest ancestor that is shown
  const under = new Map([[-1, []]]);
  const settled = new Uint8Array(count);
  const overOf = row => {
    const walk = [];
    let at = row;
    while (at >= 0 && !settled[at]) {
      settled[at] = 1;
      walk.push(at);
      at = model.above[at];
    }
    while (walk.length) {
      const step = walk.pop();
      const up = model.above[step];
      over[step] = up < 0 || up === step ? -1 : model.shows(up, filter) ? up : over[up];
    }
    return over[row];
  };
  const shown = [];
  for (let row = 0; row < count; row++) {
    if (!model.shows(row, filter)) continue;
    shown.push(row);
    const up = overOf(row);
    if (!under.has(up)) under.set(up, []);
    under.get(up).push(row);
  }
  // The newest shown row in each row's subtree. The rows come newest first, so the first one that arrives stays.
  const newest = new Array(count).fill(-1);
  for (let at = shown.length - 1; at >= 0; at--) {
    for (let up = shown[at]; up >= 0 && newest[up] < 0; up = over[up]) newest[up] = shown[at];
  }
  shapes.set(key, shape = {over, under, shown, newest});
  if (shapes.size > 12) shapes.delete(shapes.keys().next().value);
  return shape;
}

const childrenOf = (shape, row) => shape.under.get(row) ?? [];

// The number of rows below each row in a view, computed on demand.
function countBelow(shape, row) {
  let count = 0;
  const waiting = [...childrenOf(shape, row)];
  for (const seen = new Set(); waiting.length;) {
    const next = waiting.pop();
    if (seen.has(next)) continue;
    seen.add(next);
    count += 1;
    waiting.push(...childrenOf(shape, next));
  }
  return count;
}

// The rows of a view: {row, indent, starts, last, hidden}. The rows of the path have no indentation. Below a fork come
// its other branches, and then the path goes on. `starts` marks the first row of a branch. A branch that is not in
// `open` is this row only, with the number of `hidden` rows. It is laid out in the same way: where no child is on the
// path, the one with the newest row goes on. With `hits`, only these rows are included, of all branches.
function layout(filter, path, open, hits) {
  const shape = shapeOf(filter);
  const found = [];
  const waiting = [];
  const push = (rows, indent) => {
    if (!rows.length) return;
    const next = rows.find(row => path.has(row)) ??
      rows.reduce((one, other) => shape.newest[other] > shape.newest[one] ? other : one);
    const others = rows.filter(row => row !== next);
    waiting.push({row: next, indent, starts: false, last: false});
    others.reverse().forEach((row, at) => waiting.push({row, indent: indent + 1, starts: true, last: at === 0}));
  };
  push(childrenOf(shape, -1), 0);
  const seen = new Uint8Array(model.rows.length);
  while (waiting.length) {
    const place = waiting.pop();
    const {row, indent, starts} = place;
    if (seen[row]) continue;
    seen[row] = 1;
    const isOpen = !starts || hits || open.has(row);
    if (!hits || hits.has(row)) found.push({...place, hidden: isOpen ? 0 : countBelow(shape, row)});
    if (isOpen) push(childrenOf(shape, row), indent);
  }
  return found;
}

const escapes = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"};
const escaped = text => String(text ?? "").replace(/[&<>"']/g, sign => escapes[sign]);
