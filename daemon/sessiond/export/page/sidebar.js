// The tree beside the transcript. Only visible rows are in the document.

const ROW = 26;        // pixels; as in the style sheet
const SPARE = 12;

const sidebar = {
  filter: 0,
  open: new Set(),     // the first rows of open branches
  query: "",
  hits: null,
  rows: [],
  at: 0,               // the position of the keyboard selection
  onPath: new Set(),
  choose: () => {},

  begin(choose) {
    this.tree = document.getElementById("tree");
    this.box = document.getElementById("rows");
    this.choose = choose;
    this.tree.addEventListener("scroll", () => this.draw(), {passive: true});
    new ResizeObserver(() => this.draw()).observe(this.tree);
    this.tree.addEventListener("keydown", event => this.key(event));
    this.box.addEventListener("click", event => {
      // By position and not by element: rows may be redrawn between press and release.
      const place = Math.floor((event.clientY - this.box.getBoundingClientRect().top) / ROW);
      if (place >= this.rows.length) return;
      this.at = place;
      if (event.target.closest(".fold") && this.isBranch(place)) this.toggle();
      else this.go();
    });
  },

  // Update the rows from the model. The selected row stays selected. A search finds entries that the filter hides, too.
  refresh() {
    const row = this.rows[this.at]?.row;
    this.onPath = new Set(model.path(model.leaf));
    this.rows = layout(this.hits ? ALL : this.filter, this.onPath, this.open, this.hits);
    const place = this.rows.findIndex(shown => shown.row === row);
    this.at = Math.max(0, place >= 0 ? place : Math.min(this.at, this.rows.length - 1));
    this.box.style.height = `${this.rows.length * ROW}px`;
    this.draw();
  },

  draw() {
    const first = Math.max(0, Math.floor(this.tree.scrollTop / ROW) - SPARE);
    const end = Math.min(this.rows.length, Math.ceil((this.tree.scrollTop + this.tree.clientHeight) / ROW) + SPARE);
    const items = [];
    for (let place = first; place < end; place++) items.push(this.item(place));
    this.box.innerHTML = items.join("");
    for (const item of this.box.children) {
      item.style.top = `${Number(item.dataset.place) * ROW}px`;
      item.style.paddingInlineStart = `${8 + Math.min(Number(item.dataset.indent), 20) * 14}px`;
    }
    const current = this.rows[this.at];
    if (current) this.tree.setAttribute("aria-activedescendant", `t-${current.row}`);
    else this.tree.removeAttribute("aria-activedescendant");
  },

  item(place) {
    const {row, indent, starts, last, hidden} = this.rows[place];
    const entry = model.rows[row];
    const foldable = this.isBranch(place);
    const marks = [
      "row", this.onPath.has(row) ? "on" : "off", row === model.leaf ? "leaf" : "",
      place === this.at ? "at" : "", starts ? "branch" : "", last ? "last" : "",
    ].join(" ");
    const expanded = foldable ? ` aria-expanded="${hidden === 0}"` : "";
    const label = entry.label ? `<span class="label">${escaped(entry.label)}</span>` : "";
    const fold = `<span class="fold"${foldable ? ` title="Fold or unfold">${hidden ? "▸" : "▾"}` : ">"}</span>`;
    const spoken = [entry.heading, entry.label && `label ${entry.label}`, entry.preview, row === model.leaf && "leaf",
      hidden && `${hidden} more`];
    const more = hidden ? ` <span class="more">${hidden} more</span>` : "";
    return `<div class="${marks}" role="treeitem" id="t-${row}" data-kind="${escaped(entry.role ?? entry.type)}"` +
      ` data-place="${place}" data-indent="${indent}"` +
      ` aria-level="${indent + 1}" aria-selected="${place === this.at}"${expanded}` +
      ` aria-label="${escaped(spoken.filter(Boolean).join(", "))}">` +
      `${fold}${label}<span class="who">${escaped(short(entry))}</span> <span class="preview" dir="auto">${escaped(entry.preview)}</span>${more}</div>`;
  },

  // Whether a row begins a branch with more rows.
  isBranch(place) {
    const {row, starts} = this.rows[place];
    return starts && !this.hits && childrenOf(shapeOf(this.filter), row).length > 0;
  },

  key(event) {
    const page = Math.max(1, Math.floor(this.tree.clientHeight / ROW) - 1);
    const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in steps) this.move(steps[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.go();
    else if (event.key === "ArrowLeft") this.fold(true);
    else if (event.key === "ArrowRight") this.fold(false);
    else return;
    event.preventDefault();
  },

  move(by) {
    this.at = Math.max(0, Math.min(this.rows.length - 1, this.at + by));
    this.reveal();
  },

  reveal() {
    const top = this.at * ROW;
    if (top < this.tree.scrollTop) this.tree.scrollTop = top;
    const bottom = top + ROW - this.tree.clientHeight;
    if (bottom > this.tree.scrollTop) this.tree.scrollTop = bottom;
    this.draw();
  },

  // Left folds a branch or selects the parent. Right unfolds it or selects the next row.
  fold(close) {
    const current = this.rows[this.at];
    if (!current) return;
    if (this.isBranch(this.at) && this.open.has(current.row) === close) this.toggle();
    else if (close) {
      const over = shapeOf(this.filter).over[current.row];
      const place = this.rows.findIndex(shown => shown.row === over);
      if (place >= 0) this.move(place - this.at);
    } else this.move(1);
  },

  toggle() {
    const {row} = this.rows[this.at];
    if (!this.open.delete(row)) this.open.add(row);
    this.refresh();
  },

  go() {
    const current = this.rows[this.at];
    if (current) this.choose(current.row);
  },

  // Select a row if the view shows it. The branches that it is in are opened.
  follow(row) {
    let place = this.rows.findIndex(shown => shown.row === row);
    if (place < 0 && !this.hits && row >= 0 && model.shows(row, this.filter)) {
      model.path(row).slice(0, -1).forEach(above => this.open.add(above));
      this.refresh();
      place = this.rows.findIndex(shown => shown.row === row);
    }
    if (place < 0) return;
    this.at = place;
    this.reveal();
  },

  search(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    this.query = query;
    this.hits = null;
    if (words.length) {
      this.hits = new Set();
      for (let row = 0; row < model.rows.length; row++) {
        if (words.every(word => model.words(row).includes(word))) this.hits.add(row);
      }
    }
    this.refresh();
    if (this.hits) this.move(-Infinity);
    document.getElementById("found").textContent = this.hits ? `${this.rows.length} found` : "";
    return words;
  },
};

const WHO = {user: "You", assistant: "AI", toolResult: "↳", bashExecution: "$", compaction: "≡", branch_summary: "≡"};
const short = entry => WHO[entry.role] ?? WHO[entry.type] ?? (entry.role ?? entry.type).slice(0, 24);
