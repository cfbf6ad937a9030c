// The page of `sessiond view`: shows the session that the page's server sends, and follows it.
//
// The address holds a token behind its #, a part that browsers send nowhere. The token is good once: the server answers
// with two keys, which the tab keeps until it is closed. With one the page shows who it is, with the other the server
// does. Another port of this machine sees none of the three.

const RETRY_MS = [250, 5000];   // the first pause before another request, and the longest one
const ANSWER_MS = 500;          // how long other tabs have to answer

const served = {
  kept: {},            // `token` until it is used; `pageKey` and `serverKey`
  loaded: false,
  word: "",            // live, away, ended or refused

  begin() {
    this.tabs = new BroadcastChannel("sessiond");
    this.tabs.onmessage = ({data}) => {
      if (data === "keys?" && this.word === "live") this.tabs.postMessage(this.kept);
    };
    this.kept = JSON.parse(this.storage("getItem") ?? "{}");
    this.takeToken();
    addEventListener("hashchange", () => { if (this.takeToken()) location.reload(); });
    this.follow();
  },

  // Move the token from the address into the tab, so that neither the history nor a copied address has it.
  takeToken() {
    const token = new URLSearchParams(location.hash.slice(1)).get("token");
    if (!token) return false;
    this.keep({...this.kept, token});
    history.replaceState(null, "", location.pathname + location.search);
    return true;
  },

  keep(kept) {
    this.kept = kept;
    this.storage("setItem", JSON.stringify(kept));
  },

  storage(method, ...more) {
    try {
      return sessionStorage[method]("sessiond.keys", ...more);
    } catch {
      return null;   // the reader's browser keeps nothing: the page works until it is reloaded
    }
  },

  // Show what the server sends until it ends or refuses. After a lost connection, go on where it ended.
  async follow() {
    for (let pause = RETRY_MS[0]; ; pause = Math.min(2 * pause, RETRY_MS[1])) {
      for await (const message of this.messages()) {
        const isOver = message.ended || message.refused || (message.serverKey && !this.knows(message));
        if (message.refused && await this.borrowKeys()) break;
        if (isOver) return this.say(this.loaded ? "ended" : "refused", this.reason());
        if (!message.serverKey) this.receive(message);
        pause = RETRY_MS[0];
      }
      if (this.word !== "away") this.say("away", "The page waits for its server.");
      await new Promise(resolve => setTimeout(resolve, pause));
    }
  },

  reason() {
    if (this.loaded) return "This page is no longer updated.";
    if (this.kept.token) return "This address was already used.";
    return "The session is shown in the tab that opened the printed address.";
  },

  // Whether a server is the one that this tab began with, or the first one, to which the token leads. After the end of
  // a server, its port may belong to another user.
  knows({pageKey, serverKey}) {
    if (this.kept.token) this.keep({pageKey, serverKey});
    return this.kept.serverKey === serverKey;
  },

  // The messages of one connection, each of which is a line of JSON.
  async *messages() {
    const {token, pageKey} = this.kept;
    const response = await fetch("/events", {
      method: "POST", credentials: "omit", cache: "no-store", headers: {"Content-Type": "application/json"},
      referrerPolicy: "strict-origin",   // without a referrer, some browsers send no origin
      body: JSON.stringify({token, pageKey, after: model.rows.length}),
    }).catch(() => null);
    if (response?.status === 403) yield {refused: true};
    if (!response?.ok) return;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let line = [];     // the pieces of the line that has not ended
    for (;;) {
      const {value, done} = await reader.read().catch(() => ({done: true}));
      if (done) return;
      const [rest, ...next] = value.split("\n");
      line.push(rest);
      for (const piece of next) {
        const text = line.join("");
        line = [piece];
        if (text) yield JSON.parse(text);
      }
    }
  },

  // Ask the other tabs with this page for the keys: this tab has an address that was copied there.
  async borrowKeys() {
    const {pageKey: before} = this.kept;
    const others = new BroadcastChannel("sessiond");
    const keys = await new Promise(resolve => {
      others.onmessage = ({data}) => { if (data.pageKey && data.pageKey !== before) resolve(data); };
      others.postMessage("keys?");
      setTimeout(resolve, ANSWER_MS);
    });
    others.close();
    if (keys) this.keep(keys);
    return Boolean(keys);
  },

  receive(message) {
    if (this.loaded) {
      live.update(message);
    } else {
      this.loaded = true;
      model.load(message);
      page.head();
      page.arrive();
    }
    if (this.word !== "live") this.say("live");
  },

  // Show a word beside the title, and above the transcript a sentence with the command that shows the session again.
  say(word, sentence) {
    this.word = word;
    live.showStatus(word);
    document.getElementById("notice")?.remove();
    if (!sentence) return;
    const {sessionId} = model.session;
    transcript.main.insertAdjacentHTML("afterbegin", `<p id="notice" role="alert">${sentence} ` +
      `${word === "away" ? "If that has ended, run" : "Run"} <code>sessiond view${sessionId ? ` ${escaped(sessionId)}` : ""}</code> ` +
      "for a new address.</p>");
  },
};
