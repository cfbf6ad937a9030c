// What is new in a session that is served live: rows are added, and who looks at the leaf stays with it.

const live = {
  begin(address) {
    if (!address) return;
    const events = new EventSource(address);
    events.onopen = () => this.say("live");
    events.onerror = () => this.say(events.readyState === EventSource.CLOSED ? "ended" : "away");
    events.onmessage = event => this.take(JSON.parse(event.data));
  },

  say(word) {
    $("live").textContent = word;
  },

  take({entries, changed, session}) {
    const atLeaf = model.leaf === model.tip;
    const atEnd = transcript.main.scrollHeight - transcript.main.scrollTop - transcript.main.clientHeight < 80;
    // The stream may have been broken: what came twice is there once.
    model.add(entries.filter(it => !model.byId.has(it.id)));
    for (const row of changed ?? []) model.change(row);
    model.session = session;
    model.tip = model.rowOf(session.leaf) ?? model.rows.length - 1;
    page.head();
    if (atLeaf && model.tip !== model.leaf) {
      model.leaf = model.tip;
      if (!transcript.grow(model.tip)) transcript.show(model.tip);
    }
    for (const {id} of changed ?? []) transcript.redraw(model.rowOf(id));
    sidebar.refresh();
    if (atLeaf && atEnd) {
      transcript.main.scrollTop = transcript.main.scrollHeight;
      sidebar.follow(model.tip);
    }
  },
};
