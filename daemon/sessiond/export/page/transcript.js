// The path to the leaf as a transcript. Entries are grouped in stretches; only stretches near the viewport are filled.

const STRETCH = 40;
const GUESS = 140;     // pixels; the assumed height of an entry without layout

const transcript = {
  rows: [],
  place: new Map(),    // row -> its index in `rows`
  words: [],
  unfolded: new Set(),

  begin() {
    this.main = document.getElementById("transcript");
    this.box = document.getElementById("path");
    this.near = new IntersectionObserver(seen => this.saw(seen), {root: this.main, rootMargin: "1500px 0px"});
    // A stretch with an entry that the reader unfolded stays filled.
    this.box.addEventListener("toggle", event => {
      this.keep(event.target);
      if (event.target.open) blocks.reach(event.target);
    }, true);
    // Print the whole path, in the light theme.
    let theme;
    addEventListener("beforeprint", () => {
      this.stretches().forEach(part => this.fill(part));
      theme = document.documentElement.dataset.theme;
      document.documentElement.dataset.theme = "light";
    });
    addEventListener("afterprint", () => {
      if (theme === undefined) delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = theme;
    });
  },

  stretches() {
    return [...this.box.children];
  },

  // The entries of the path that have a place of their own. Results are in the cards of their calls.
  rowsTo(leaf) {
    const path = model.path(leaf).filter(row => model.speaks(row, sidebar.filter));
    calls.pair(path);
    return path.filter(row => !calls.owner.has(row));
  },

  // The index in `rows` of the entry that shows a row.
  placeOf(row) {
    return this.place.get(calls.owner.get(row) ?? row);
  },

  // Apply another filter. The entry at the top of the viewport stays there if it is still shown.
  refilter() {
    const rows = this.rowsTo(model.leaf);
    if (rows.length === this.rows.length) return;
    const top = this.rows[this.top()];
    this.show(model.leaf);
    if (top !== undefined) this.reveal(top);
  },

  show(leaf) {
    this.rows = this.rowsTo(leaf);
    this.place = new Map(this.rows.map((row, at) => [row, at]));
    this.near.disconnect();
    this.box.textContent = this.rows.length || host.loading ? "" : "The session has no messages yet.";
    this.extend(0);
  },

  // Create stretches for the rows from an index. An existing last stretch is replaced.
  extend(from) {
    const first = Math.floor(from / STRETCH);
    while (this.box.children.length > first) this.box.lastElementChild.remove();
    for (let start = first * STRETCH; start < this.rows.length; start += STRETCH) {
      const part = document.createElement("div");
      part.className = "stretch";
      part.dataset.start = start;
      part.style.height = `${Math.min(STRETCH, this.rows.length - start) * GUESS}px`;
      this.box.append(part);
      this.near.observe(part);
    }
  },

  // Extend the path at its end. Returns false if the path has changed otherwise.
  grow(leaf) {
    const answered = new Set(calls.owner.keys());
    const rows = this.rowsTo(leaf);
    if (!this.rows.length || rows.length < this.rows.length || this.rows.some((row, at) => rows[at] !== row)) return false;
    const from = this.rows.length;
    this.rows = rows;
    rows.slice(from).forEach((row, at) => this.place.set(row, from + at));
    this.extend(from);
    for (const [result, row] of calls.owner) if (!answered.has(result)) this.redraw(row);
    return true;
  },

  saw(seen) {
    for (const {target, isIntersecting} of seen) {
      if (isIntersecting) this.fill(target);
      else this.empty(target);
    }
    this.mark();
  },

  fill(part) {
    if (part.firstChild) return;
    const start = Number(part.dataset.start);
    part.innerHTML = this.rows.slice(start, start + STRETCH).map(row => this.article(row)).join("");
    part.style.height = "";
    this.dress(part);
  },

  // Complete new articles: results, buttons, and what is unfolded.
  dress(part) {
    part.querySelectorAll("article").forEach(article => calls.mount(article));
    blocks.dress(part);
    this.unfold(part);
    requestAnimationFrame(() => blocks.reach(part));
  },

  empty(part) {
    if (!part.firstChild || part.dataset.kept || part.contains(document.activeElement)) return;
    const height = part.offsetHeight;
    part.textContent = "";
    part.style.height = `${height}px`;
  },

  keep(fold) {
    const part = fold.closest(".stretch");
    const byUs = [...this.unfolded].some(kind => fold.matches(kind));
    if (part && fold.open && !byUs) part.dataset.kept = "1";
  },

  unfold(part) {
    for (const kind of this.unfolded) part.querySelectorAll(`details${kind}`).forEach(fold => { fold.open = true; });
  },

  // Fold or unfold all blocks of some kinds, including those that are filled later.
  toggle(kinds) {
    const open = !this.unfolded.has(kinds[0]);
    for (const kind of kinds) {
      if (open) this.unfolded.add(kind);
      else this.unfolded.delete(kind);
      this.box.querySelectorAll(`details${kind}`).forEach(fold => { fold.open = open; });
    }
    return open;
  },

  article(row) {
    const entry = model.rows[row];
    const kind = escaped(entry.role ?? entry.type);
    const label = entry.label ? `<span class="label">${escaped(entry.label)}</span>` : "";
    const facts = (entry.facts ?? []).map(fact => `<span>${escaped(fact)}</span>`).join("");
    const time = entry.timestamp ? `<time datetime="${escaped(entry.timestamp)}">${escaped(when(entry.timestamp))}</time>` : "";
    const preview = entry.body ? "" : `<span class="preview" dir="auto">${escaped(entry.preview)}</span>`;
    const body = entry.body ? `<div class="body" dir="auto">${entry.body}</div>` : "";
    const copy = entry.body ? `<button type="button" data-copy-text title="Copy the text of this entry">Copy</button>` : "";
    const ways = page.where === host ? host.acts(row)
      : `<a class="link" href="${escaped(address(row))}" data-copy="1" title="Copy a link to this entry" aria-label="Copy a link to this entry">#</a>`;
    const fork = branches(row);
    const classes = [entry.body ? "" : "slim", fork || label || !this.continues(row) ? "" : "continued"].filter(Boolean).join(" ");
    return `<article id="e-${row}" data-row="${row}" data-kind="${kind}" class="${classes}" tabindex="-1"` +
      ` aria-label="${escaped(entry.heading)}"><header><h2>${escaped(entry.heading)}</h2>${preview}${label}${fork}` +
      `<span class="facts">${facts}${time}</span><span class="acts">${copy}${ways}</span></header>${body}</article>`;
  },

  // Whether a row goes on with the assistant's turn, so that its header says nothing new. A stop reason is new.
  continues(row) {
    const previous = this.rows[this.place.get(row) - 1];
    const {role, facts = []} = model.rows[row];
    return role === "assistant" && previous !== undefined && model.rows[previous].role === "assistant" &&
      !facts.slice(1).some(fact => /^[a-z]/i.test(fact));
  },

  // Draw an entry again. Its unfolded parts stay unfolded.
  redraw(row) {
    const article = document.getElementById(`e-${calls.owner.get(row) ?? row}`);
    if (!article) return;
    const open = foldsOf(article);
    const focused = article.contains(document.activeElement);
    const target = article.querySelector(".target")?.id ?? (article.classList.contains("target") ? article.id : null);
    const box = document.createElement("div");
    box.innerHTML = this.article(Number(article.dataset.row));
    this.dress(box);
    const drawn = box.firstElementChild;
    article.replaceWith(drawn);
    applyFolds(drawn, open);
    if (target) document.getElementById(target)?.classList.add("target");
    requestAnimationFrame(() => blocks.reach(drawn));
    if (focused) drawn.focus({preventScroll: true});
  },

  // Scroll to an entry. Returns whether it is on the path.
  reveal(row, {focus = false} = {}) {
    const article = this.articleOf(row);
    if (!article) return false;
    const isFirst = this.placeOf(row) === 0;
    this.box.querySelector(".target")?.classList.remove("target");
    article.classList.add("target");
    const card = article.parentElement.closest("details");
    if (card) card.open = true;
    const scroll = () => {
      if (isFirst && !card) this.main.scrollTop = 0;   // with what is above the first entry
      else document.getElementById(`e-${row}`)?.scrollIntoView({block: "start"});
    };
    scroll();
    if (focus) article.focus({preventScroll: true});
    // Stretches that are filled above change the position, so scroll again after the layout.
    requestAnimationFrame(() => requestAnimationFrame(scroll));
    this.mark();
    return true;
  },

  // The place of the reader: the entry at the top, its distance from there, and the entries that were unfolded.
  // They are named by their ids, because the numbers of rows change when the earlier ones are added.
  view() {
    const row = this.rows[this.top()];
    const unfolded = new Map();
    for (const article of this.box.querySelectorAll(".stretch > article")) {
      const open = foldsOf(article);
      if (open.includes(true)) unfolded.set(model.rows[article.dataset.row].id, open);
    }
    return {
      id: model.rows[row]?.id, offset: this.offset(row), atEnd: this.atEnd(), unfolded,
      targetId: model.rows[this.box.querySelector(".target")?.dataset.row]?.id,
    };
  },

  // Restore a view after other rows were added.
  putBack({id, offset, atEnd, unfolded, targetId}) {
    for (const [of, open] of unfolded) {
      const article = this.articleOf(model.rowOf(of));
      if (article) applyFolds(article, open);
    }
    this.box.querySelector(".target")?.classList.remove("target");
    if (targetId !== undefined) this.articleOf(model.rowOf(targetId))?.classList.add("target");
    if (atEnd) {
      this.toEnd();
      return;
    }
    const row = model.rowOf(id);
    // Stretches that are filled above later do not move it: the editor's browser anchors what is in view.
    if (this.articleOf(row)) this.main.scrollTop += this.offset(row) - offset;
  },

  // The pixels from the top of the viewport to an entry.
  offset(row) {
    const article = this.articleOf(row);
    return article ? article.getBoundingClientRect().top - this.main.getBoundingClientRect().top : 0;
  },

  // The element that shows a row, filled if it was not. Undefined if the row is not on the path.
  articleOf(row) {
    const place = this.placeOf(row);
    if (place === undefined) return undefined;
    const part = this.box.children[Math.floor(place / STRETCH)];
    for (const near of [part.previousElementSibling, part, part.nextElementSibling]) if (near) this.fill(near);
    return document.getElementById(`e-${row}`);
  },

  atEnd() {
    return this.main.scrollHeight - this.main.scrollTop - this.main.clientHeight < 80;
  },

  // Scroll to the end of the path, and again after the layout of newly filled stretches.
  toEnd() {
    const parts = this.stretches();
    parts.slice(-2).forEach(part => this.fill(part));
    const down = () => { this.main.scrollTop = this.main.scrollHeight; };
    down();
    requestAnimationFrame(() => requestAnimationFrame(down));
  },

  // The index of the entry at the top of the viewport.
  top() {
    const top = this.main.getBoundingClientRect().top;
    for (const part of this.box.children) {
      if (part.getBoundingClientRect().bottom <= top + 4) continue;
      this.fill(part);   // it may be empty
      for (const article of part.children) {
        if (article.getBoundingClientRect().bottom > top + 4) return this.place.get(Number(article.dataset.row)) ?? 0;
      }
    }
    return Math.max(0, this.rows.length - 1);
  },

  step(by) {
    const target = this.box.querySelector(".target");
    const from = target ? this.placeOf(Number(target.dataset.row)) : this.top() - (by > 0 ? 1 : 0);
    const row = this.rows[Math.max(0, Math.min(this.rows.length - 1, from + by))];
    if (row !== undefined) this.reveal(row, {focus: true});
    return row;
  },

  // Highlight the search words, in browsers that can do so without changing the document.
  mark() {
    if (!globalThis.Highlight || !CSS.highlights) return;
    CSS.highlights.delete("hit");
    if (!this.words.length) return;
    const ranges = [];
    const walk = document.createTreeWalker(this.box, NodeFilter.SHOW_TEXT);
    while (walk.nextNode() && ranges.length < 5000) {
      const text = walk.currentNode.data.toLowerCase();
      for (const word of this.words) {
        for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
          const range = new Range();
          range.setStart(walk.currentNode, at);
          range.setEnd(walk.currentNode, Math.min(at + word.length, walk.currentNode.length));
          ranges.push(range);
        }
      }
    }
    CSS.highlights.set("hit", new Highlight(...ranges));
  },
};

// Which blocks of an entry are unfolded, in their order.
const foldsOf = article => [...article.querySelectorAll("details")].map(fold => fold.open);

function applyFolds(article, folds) {
  article.querySelectorAll("details").forEach((fold, at) => { if (folds[at]) fold.open = true; });
}

// Buttons for the other branches at a fork.
function branches(row) {
  const shape = shapeOf(0);
  const siblings = childrenOf(shape, shape.over[row]);
  const at = siblings.indexOf(row);
  if (siblings.length < 2 || at < 0) return "";
  const way = (by, sign, word) => {
    const other = siblings[at + by];
    return other === undefined ? `<button type="button" disabled aria-label="${word}">${sign}</button>`
      : `<button type="button" data-branch="${other}" aria-label="${word}">${sign}</button>`;
  };
  return `<span class="branches">${way(-1, "‹", "The branch before")}<span>${at + 1} of ${siblings.length}</span>${way(1, "›", "The next branch")}</span>`;
}

function when(text) {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? text : time.toLocaleString(undefined, {dateStyle: "medium", timeStyle: "short"});
}

const address = row => `?leafId=${encodeURIComponent(model.rows[model.leaf]?.id ?? "")}&targetId=${encodeURIComponent(model.rows[row].id)}`;
