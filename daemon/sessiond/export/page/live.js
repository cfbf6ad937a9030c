// What is new in a session: rows are added, marks change, and who looks at the leaf stays with it.

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

  // `first` is how many rows came before these: what comes twice, as after a broken stream, is taken once.
  // False when some in between are missing.
  take({first, rows, marks, session}) {
    if (first > model.rows.length) return false;
    const atLeaf = model.leaf === model.tip;
    const atEnd = transcript.atEnd();
    model.add(rows.slice(model.rows.length - first));
    marks.forEach(mark => model.mark(mark));
    model.session = session;
    model.tip = model.rowOf(session.leafId) ?? model.rows.length - 1;
    page.head();
    if (atLeaf && model.tip !== model.leaf) {
      model.leaf = model.tip;
      if (!transcript.grow(model.tip)) transcript.show(model.tip);
    }
    for (const {id} of marks) transcript.redraw(model.rowOf(id));
    sidebar.refresh();
    if (atLeaf && atEnd && !host.loading) {
      transcript.toEnd();
      sidebar.follow(model.tip);
    }
    return true;
  },
};
