// The page in an editor's webview. The editor sends the session's rows and receives the reader's actions.

const ACTS = [
  ["open", "Open", "Open this entry in the editor"],
  ["fork", "Fork", "Fork a session from here"],
  ["label", "Label", "Label this entry"],
];

const host = {
  api: null,
  loading: false,      // true until all existing rows have arrived
  read: [],            // the rows that arrived meanwhile, in the order of the log
  marks: [],           // and the marks
  drawn: false,        // whether the transcript shows rows of the path meanwhile
  wanted: null,        // the id of an entry to show as soon as it arrives
  reported: null,      // the id of the entry that the editor and this page agree on
  byReader: false,     // whether the reader has moved since then
  settling: 0,
  status: "",          // what the editor said last of the connection

  begin() {
    this.api = acquireVsCodeApi();
    this.loading = true;
    document.documentElement.dataset.hosted = "";
    this.dress();
    new MutationObserver(() => this.dress()).observe(document.body, {attributeFilter: ["class"]});
    addEventListener("message", event => {
      // The editor posts through the parent window, which has the same origin. Other senders are ignored.
      if (event.origin === origin && holdsUs(event.source)) this.receive(event.data);
    });
    // Without one of these, the page itself scrolls.
    for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"]) {
      addEventListener(kind, () => { this.byReader = true; }, {passive: true, capture: true});
    }
    transcript.box.addEventListener("click", event => {
      const article = event.target.closest("article");
      if (article && !event.target.closest("[data-branch], [data-act]")) this.report(Number(article.dataset.row));
    });
    this.requestRows();
  },

  // Request all rows from the first one.
  requestRows() {
    this.api.postMessage({kind: "ready"});
  },

  receive(message) {
    if (message?.kind === "path" && this.loading) this.drawPath(message);
    if (message?.kind === "rows") this.addRows(message);
    if (message?.kind === "reveal") this.reveal(String(message.entryId));
    if (message?.kind === "status") live.showStatus(this.status = String(message.text));
    if (message?.kind === "tree") page.besideTree(message.visible === true);
  },

  // Show rows of the path while the others are read. A window that was reloaded at another place waits for all rows.
  drawPath({session, rows}) {
    const {leafId, targetId} = this.asked();
    const isWanted = rows.some(row => row.id === this.wanted);
    if (!rows.length || (this.wanted === null ? this.drawn || leafId || targetId : !isWanted)) return;
    this.drawn = true;
    model.load({session, rows});
    page.head();
    page.choose(model.rows.length - 1);
    if (this.wanted === null) this.toLeaf();
    else this.reveal(this.wanted);
    this.uncover();
  },

  addRows(message) {
    if (this.loading ? !this.collect(message) : !live.update(message)) this.requestRows();
    else if (this.wanted !== null) this.reveal(this.wanted);
  },

  // Keep a part of the session until all of it is there. Returns false if rows in between are missing.
  collect({first, rows, marks, session, toSeq, lastSeq}) {
    if (first > this.read.length) return false;
    for (const row of rows.slice(this.read.length - first)) this.read.push(row);
    this.marks.push(...marks);
    live.showStatus(`${this.read.length.toLocaleString()} entries read`);
    if (toSeq >= lastSeq) this.showAll(session);
    return true;
  },

  // All rows are there. The rows in view stay in their place.
  showAll(session) {
    const place = this.drawn ? transcript.view() : null;
    model.load({session, rows: this.read});
    this.marks.forEach(mark => model.mark(mark));
    this.loading = false;
    this.read = [];
    this.marks = [];
    live.showStatus(this.status);
    page.head();
    if (!page.told) page.besideTree(false);   // the editor's extension is older than that message
    page.arrive();
    if (place) transcript.putBack(place);
    else if (!this.asked().targetId) this.toLeaf();
    if (!this.drawn) this.uncover();
    transcript.main.addEventListener("scroll", () => this.settle(), {passive: true});
  },

  toLeaf() {
    transcript.toEnd();
    this.remember(-1);   // stores which session it is, for a reloaded window
  },

  // Show the transcript when it is where it stays: stretches above the leaf get their height in the next frames.
  uncover() {
    requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => {
      delete document.documentElement.dataset.loading;
    })));
  },

  reveal(id) {
    const row = model.rowOf(id);
    this.wanted = row === undefined ? id : null;
    if (row === undefined) return;
    this.reported = id;
    this.byReader = false;
    page.goTo(row);
  },

  // Tell the editor at which entry the reader is: the nearest one that a tree shows with the filter `default`.
  report(row) {
    const shown = [row, ...(calls.results.get(row) ?? []), ...model.path(row).reverse()]
      .find(near => near !== undefined && model.rows[near] && model.shows(near, 0));
    const id = model.rows[shown]?.id;
    this.byReader = false;
    if (id === undefined || id === this.reported) return;
    this.reported = id;
    this.api.postMessage({kind: "at", entryId: id});
  },

  // Set the light or dark theme of the editor.
  dress() {
    const {classList} = document.body;
    const dark = classList.contains("vscode-dark") ||
      (classList.contains("vscode-high-contrast") && !classList.contains("vscode-high-contrast-light"));
    const theme = dark ? "dark" : "light";
    if (document.documentElement.dataset.theme !== theme) document.documentElement.dataset.theme = theme;
  },

  // The leaf and entry that the reader viewed before the window was reloaded.
  asked() {
    return this.api.getState() ?? {};
  },

  remember(row) {
    const leafId = model.leaf === model.tip ? null : model.rows[model.leaf]?.id;
    this.api.setState({sessionId: model.session.sessionId, leafId, targetId: model.rows[row]?.id ?? null});
  },

  // When scrolling stops, store the entry at the top, or the end if the reader is there. The editor hears of it only
  // if the reader scrolled.
  settle() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      const row = transcript.atEnd() ? -1 : transcript.rows[transcript.top()];
      this.remember(row);
      if (this.byReader) this.report(row === -1 ? model.leaf : row);
    }, 300);
  },

  acts(row) {
    return ACTS.map(([act, word, title]) =>
      `<button type="button" data-act="${act}" data-of="${row}" title="${title}">${word}</button>`).join("");
  },

  act(button) {
    const entry = model.rows[Number(button.dataset.of)];
    if (entry) this.api.postMessage({kind: "act", act: button.dataset.act, entryId: entry.id});
  },
};

// Whether a window contains this frame. `parent` cannot be used: VS Code sets it to this window.
function holdsUs(other) {
  for (let frame = 0; frame < (other?.length ?? 0); frame++) if (other[frame] === window) return true;
  return false;
}
