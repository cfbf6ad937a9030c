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
  settling: 0,

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
    this.requestRows();
  },

  // Request all rows from the first one.
  requestRows() {
    this.api.postMessage({kind: "ready"});
  },

  receive(message) {
    if (message?.kind === "rows") this.addRows(message);
    if (message?.kind === "reveal") this.reveal(String(message.entryId));
    if (message?.kind === "status") live.showStatus(String(message.text));
  },

  addRows(message) {
    if (!live.update(message)) {
      this.requestRows();
      return;
    }
    if (this.loading && message.toSeq >= message.lastSeq) {
      this.loading = false;
      page.arrive();
      if (!this.asked().targetId) {
        transcript.toEnd();
        this.remember(-1);   // stores which session it is, for a reloaded window
      }
      transcript.main.addEventListener("scroll", () => this.settle(), {passive: true});
    }
    if (this.wanted !== null) this.reveal(this.wanted);
  },

  reveal(id) {
    const row = this.loading ? undefined : model.rowOf(id);
    this.wanted = row === undefined ? id : null;
    if (row !== undefined) page.goTo(row);
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

  // When scrolling stops, store the entry at the top, or the end if the reader is there.
  settle() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.remember(transcript.atEnd() ? -1 : transcript.rows[transcript.top()]), 300);
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
