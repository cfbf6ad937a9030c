// The page in an editor's webview. The editor sends the session's rows and receives the reader's actions.

const ACTS = [
  ["open", "Open", "Open this entry in the editor"],
  ["fork", "Fork", "Fork a session from here"],
  ["label", "Label", "Label this entry"],
];

const host = {
  api: null,
  loading: false,      // true until all existing rows have arrived
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
    // What scrolls without one of these is the page itself.
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
    if (message?.kind === "rows") this.addRows(message);
    if (message?.kind === "reveal") this.reveal(String(message.entryId));
    if (message?.kind === "status") live.showStatus(this.status = String(message.text));
    if (message?.kind === "tree") page.besideTree(message.visible === true);
  },

  addRows(message) {
    if (!live.update(message)) {
      this.requestRows();
      return;
    }
    if (this.loading && message.toSeq >= message.lastSeq) {
      this.loading = false;
      live.showStatus(this.status);
      if (!page.told) page.besideTree(false);   // the editor's extension is older than that message
      page.arrive();
      if (!this.asked().targetId) {
        transcript.toEnd();
        this.remember(-1);   // stores which session it is, for a reloaded window
      }
      this.uncover();
      transcript.main.addEventListener("scroll", () => this.settle(), {passive: true});
    }
    if (this.loading) live.showStatus(`${model.rows.length.toLocaleString()} entries read`);
    if (this.wanted !== null) this.reveal(this.wanted);
  },

  // Show the transcript when it is where it stays: stretches above the leaf get their height in the next frames.
  uncover() {
    requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => {
      delete document.documentElement.dataset.loading;
    })));
  },

  reveal(id) {
    const row = this.loading ? undefined : model.rowOf(id);
    this.wanted = row === undefined ? id : null;
    if (row === undefined) return;
    this.reported = id;
    this.byReader = false;
    page.goTo(row);
  },

  // Tell the editor at which entry the reader is: the nearest one that a tree shows with the filter `default`.
  report(row) {
    const shown = [row, ...(calls.results.get(row) ?? []), ...model.path(row).reverse()]
      .find(it => it !== undefined && model.rows[it] && model.shows(it, 0));
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
