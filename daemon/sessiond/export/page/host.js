// A page in an editor's webview: the editor gives it the session's rows, and is told what its reader asks for.

const ACTS = [
  ["open", "Open", "Open this entry in the editor"],
  ["fork", "Fork", "Fork a session from here"],
  ["label", "Label", "Label this entry"],
];

const host = {
  api: null,
  loading: false,      // until the rows that there were are all here
  wanted: null,        // an entry that is to be shown when it is here
  settling: 0,

  begin() {
    this.api = acquireVsCodeApi();
    this.loading = true;
    document.documentElement.dataset.hosted = "";
    this.dress();
    new MutationObserver(() => this.dress()).observe(document.body, {attributeFilter: ["class"]});
    addEventListener("message", event => {
      // The editor speaks through the window around this one, which has the same origin. Nobody else is listened to.
      if (event.origin === origin && holdsUs(event.source)) this.hear(event.data);
    });
    this.ask();
  },

  // Ask for the rows from the first one on.
  ask() {
    this.api.postMessage({kind: "ready"});
  },

  hear(message) {
    if (message?.kind === "rows") this.take(message);
    if (message?.kind === "reveal") this.reveal(String(message.entryId));
    if (message?.kind === "say") live.say(String(message.text));
  },

  take(message) {
    if (!live.take(message)) {
      this.ask();
      return;
    }
    if (this.loading && message.through >= message.seq) {
      this.loading = false;
      page.arrive();
      if (!this.asked().targetId) {
        transcript.toEnd();
        this.remember(-1);   // which session it is, for a window that is loaded anew
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

  // Light or dark, as the editor is.
  dress() {
    const {classList} = document.body;
    const dark = classList.contains("vscode-dark") ||
      (classList.contains("vscode-high-contrast") && !classList.contains("vscode-high-contrast-light"));
    const theme = dark ? "dark" : "light";
    if (document.documentElement.dataset.theme !== theme) document.documentElement.dataset.theme = theme;
  },

  // What the reader looked at before the window was loaded anew.
  asked() {
    return this.api.getState() ?? {};
  },

  remember(row) {
    const leafId = model.leaf === model.tip ? null : model.rows[model.leaf]?.id;
    this.api.setState({sessionId: model.session.sessionId, leafId, targetId: model.rows[row]?.id ?? null});
  },

  // Remember what is at the top when scrolling has come to rest; who stands at the end stays at the end.
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

// Whether a window is the one that this frame stands in. VS Code hides it: there `parent` is this window itself.
function holdsUs(other) {
  for (let frame = 0; frame < (other?.length ?? 0); frame++) if (other[frame] === window) return true;
  return false;
}
