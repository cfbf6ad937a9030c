// Live updates of a session: adds rows, changes labels, and follows the leaf if the reader is at the leaf.

const live = {
  showStatus(text) {
    $("live").textContent = text;
  },

  // `first` is the number of rows before these. Rows repeated after a broken stream are skipped.
  // Returns false if rows in between are missing.
  update({first, rows, marks, session}) {
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
    if (atLeaf && atEnd) {
      transcript.toEnd();
      sidebar.follow(model.tip);
    }
    return true;
  },
};
