// The page: connects its parts, and handles its address and keys.

const $ = id => document.getElementById(id);

// The state of a page in a browser: its address.
const browser = {
  asked() {
    const asked = new URLSearchParams(location.search);
    return {leafId: asked.get("leafId"), targetId: asked.get("targetId")};
  },

  remember(row) {
    try {
      history.pushState(null, "", address(row));
    } catch {
      // The address of a page in a frame, or of a file in some browsers, cannot change.
    }
  },
};

// The agent that a session was read from, its version, and its id of the session.
const agentOf = origin => origin && [
  [origin.agent, origin.version].filter(Boolean).join(" "), origin.sessionId,
  origin.gone && "deleted there", origin.archived && "archived there",
].filter(Boolean).join(" · ");

// The sign of an agent: the initials of its name, such as CC for claude-code.
const initials = name => {
  const words = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const letters = words.length > 1 ? words.slice(0, 2).map(word => [...word][0]) : [...words.join("")].slice(0, 2);
  return letters.join("").toUpperCase();
};

const TOOL_FOLDS = [".call", ".result", ".data"];

const page = {
  where: browser,
  told: false,         // whether the editor has said if it shows a tree
  chosen: false,       // whether the reader has opened or closed the tree

  begin() {
    const data = JSON.parse($("session").textContent);
    sidebar.begin(row => this.goTo(row));
    transcript.begin();
    this.menu(!data.hosted && innerWidth > 800);
    this.listen();
    if (data.hosted) {
      document.documentElement.dataset.loading = "";
      this.where = host;
      host.begin();
      return;
    }
    this.theme(this.kept("theme"));
    if (data.served) {
      served.begin();
      return;
    }
    model.load(data);
    this.head();
    this.arrive();
  },

  head() {
    const {session} = model;
    $("title").textContent = document.title = session.title || this.firstPrompt() || `Session ${session.sessionId}`;
    const agent = session.origin?.agent ?? "";
    $("agent").innerHTML = agent && `<span class="sign" aria-hidden="true">${escaped(initials(agent))}</span>${escaped(agent)}`;
    $("agent").title = agentOf(session.origin) ?? "";
    $("facts").innerHTML = this.facts(session);
    $("holds").textContent = this.holds(session);
  },

  // The name of a session without a title. A part of the path that does not begin at its root has another prompt first.
  firstPrompt() {
    const isPart = host.loading && (model.rows[0]?.parentId ?? null) !== null;
    return isPart ? "" : model.rows.find(row => row.role === "user" && row.preview)?.preview;
  },

  // The numbers of the session, in one line.
  holds(session) {
    const {messageCount: messages, toolCallCount: toolCalls, tokens, cost} = session.figures ?? {};
    const count = (number, word) => (number ? `${number.toLocaleString()} ${word}${number === 1 ? "" : "s"}` : "");
    return [
      count(messages, "message"), count(toolCalls, "tool call"), count(tokens, "token"),
      cost ? `$${cost.toFixed(cost < 1 ? 4 : 2)}` : "",
    ].filter(Boolean).join(" · ") || "About this session";
  },

  facts(session) {
    const entries = model.rows.filter(row => row.filterMask).length;
    const said = {
      Session: session.sessionId, Folder: session.cwd, Began: session.createdAt && when(session.createdAt),
      Agent: agentOf(session.origin), From: session.parentPath ?? session.parentSessionId, Tags: (session.tags ?? []).join(", "),
      Models: (session.figures?.models ?? []).join(", "), Entries: entries ? entries.toLocaleString() : "",
    };
    return Object.entries(said).filter(([, value]) => value)
      .map(([name, value]) => `<div><dt>${name}</dt><dd dir="auto">${escaped(value)}</dd></div>`).join("");
  },

  // Show the requested leaf and entry, or else the session's leaf, from its first entry.
  arrive() {
    const {leafId, targetId} = this.where.asked();
    const target = model.rowOf(targetId);
    const leaf = model.rowOf(leafId) ?? (target === undefined ? undefined : this.leafFor(target));
    this.choose(leaf ?? model.tip);
    if (target !== undefined && !this.show(target)) {
      this.choose(this.leafFor(target));
      this.show(target);
    }
    sidebar.follow(target ?? model.leaf);
  },

  choose(leaf) {
    model.leaf = leaf;
    transcript.show(leaf);
    sidebar.refresh();
  },

  // The leaf of a path through a row: the present leaf if the row is on its path, else the newest entry below the row.
  leafFor(row) {
    return sidebar.onPath.has(row) ? model.leaf : model.newest[row];
  },

  // Scroll to a row, or to the entry before one that the transcript leaves out. Returns whether there is one.
  show(row) {
    if (!sidebar.onPath.has(row)) return false;
    const before = model.path(row).findLast(above => transcript.placeOf(above) !== undefined);
    return before !== undefined && transcript.reveal(before);
  },

  goTo(row) {
    const leaf = this.leafFor(row);
    if (leaf !== model.leaf) this.choose(leaf);
    if (!this.show(row)) this.choose(row);
    sidebar.follow(row);
    this.where.remember(row);
    this.where.report?.(row);
    if (innerWidth <= 800) this.menu(false);
  },

  // The editor shows the tree in its side bar, or not. The reader's choice stays.
  besideTree(visible) {
    this.told = true;
    if (!this.chosen) this.menu(!visible && innerWidth > 1000);
  },

  // The reader opens or closes the tree.
  turnMenu(open = document.body.classList.contains("closed")) {
    this.chosen = true;
    this.menu(open);
  },

  menu(open) {
    document.body.classList.toggle("closed", !open);
    $("menu").setAttribute("aria-expanded", String(open));
    $("sidebar").inert = !open;
    if (open) sidebar.draw();
  },

  kept(name) {
    try {
      return localStorage.getItem(`sessiond.${name}`);
    } catch {
      return null;   // a page without an origin has no storage
    }
  },

  theme(name) {
    if (name === "light" || name === "dark") document.documentElement.dataset.theme = name;
  },

  turn() {
    if (this.where === host) return;   // the editor sets the theme
    const dark = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    const next = dark === "dark" ? "light" : "dark";
    this.theme(next);
    try {
      localStorage.setItem("sessiond.theme", next);
    } catch {
      // No storage, as above.
    }
  },

  first() {
    const [row] = transcript.rows;
    if (row === undefined) return;
    transcript.reveal(row, {focus: true});
    this.where.report?.(row);
  },

  step(by) {
    const row = transcript.step(by);
    if (row === undefined) return;
    sidebar.follow(row);
    this.where.report?.(row);
  },

  last() {
    const row = transcript.rows.at(-1);
    if (row === undefined) return;
    transcript.reveal(row, {focus: true});
    sidebar.follow(model.leaf);
    this.where.report?.(model.leaf);
  },

  press(button, kinds) {
    $(button).setAttribute("aria-pressed", String(transcript.toggle(kinds)));
  },

  find(query) {
    transcript.words = sidebar.search(query);
    transcript.mark();
  },

  async copy(link) {
    const url = new URL(link.getAttribute("href"), location.href).href;
    this.where.remember(Number(link.closest("article").dataset.row));
    try {
      await navigator.clipboard.writeText(url);
      link.textContent = "copied";
    } catch {
      link.textContent = "in the address bar";
    }
    setTimeout(() => { link.textContent = "#"; }, 1500);
  },

  listen() {
    $("menu").addEventListener("click", () => this.turnMenu());
    $("thinking").addEventListener("click", () => this.press("thinking", [".thinking"]));
    $("tools").addEventListener("click", () => this.press("tools", TOOL_FOLDS));
    $("theme").addEventListener("click", () => this.turn());
    $("keys").addEventListener("click", () => $("help").showModal());
    $("bindings").innerHTML = KEYS.map(([key, , words]) => `<tr><th><kbd>${escaped(key)}</kbd></th><td>${words}</td></tr>`).join("");
    $("filter").addEventListener("change", event => {
      sidebar.filter = Number(event.target.value);
      sidebar.refresh();
      transcript.refilter();
      if (sidebar.hits) $("found").textContent = `${sidebar.rows.length} found`;
    });
    // Keys scroll the transcript at once, without a click into it first.
    addEventListener("focus", () => this.settle());
    if (document.hasFocus()) this.settle();
    let waiting;
    $("search").addEventListener("input", event => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.find(event.target.value), 120);
    });
    $("search").addEventListener("keydown", event => {
      if (event.key === "Escape") { event.target.value = ""; this.find(""); event.target.blur(); }
      if (event.key === "Enter" || event.key === "ArrowDown") {
        clearTimeout(waiting);
        if (sidebar.query !== event.target.value) this.find(event.target.value);
        event.preventDefault();
        $("tree").focus();
        if (event.key === "Enter") sidebar.go();
      }
    });
    transcript.box.addEventListener("click", event => {
      const link = event.target.closest("a[data-copy]");
      const branch = event.target.closest("[data-branch]");
      if (link) { event.preventDefault(); this.copy(link); }
      const act = event.target.closest("[data-act]");
      const copy = event.target.closest(".copy, [data-copy-text]");
      const more = event.target.closest(".more");
      if (copy) blocks.copy(copy);
      if (more) blocks.turn(more);
      if (branch) this.goTo(Number(branch.dataset.branch));
      if (act) host.act(act);
      const note = event.target.closest("[data-note], [data-back]");
      if (note) followNote(note);
    });
    addEventListener("popstate", () => this.arrive());
    addEventListener("keydown", event => this.key(event));
  },

  settle() {
    if (document.activeElement === document.body) transcript.main.focus({preventScroll: true});
  },

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest?.("input, select, textarea, dialog")) return;
    const binding = KEYS.find(([key]) => key.split(" ").includes(event.key));
    if (!binding) return;
    event.preventDefault();
    binding[1]();
  },
};

const KEYS = [
  ["/", () => { page.turnMenu(true); $("search").focus(); }, "Search all entries; Enter goes to the first found, Escape ends it"],
  ["j", () => page.step(1), "The next entry"],
  ["k", () => page.step(-1), "The entry before"],
  ["g Home", () => page.first(), "The first entry"],
  ["G End", () => page.last(), "The leaf"],
  ["b", () => page.turnMenu(), "Show or hide the tree"],
  ["t", () => page.press("thinking", [".thinking"]), "Fold or unfold thinking"],
  ["o", () => page.press("tools", TOOL_FOLDS), "Fold or unfold calls and results"],
  ["d", () => page.turn(), "Light or dark"],
  ["?", () => $("help").showModal(), "This help; in the tree the arrows move, fold and unfold, Enter goes there"],
];

page.begin();
