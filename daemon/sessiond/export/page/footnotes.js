// Footnotes: from a number to its note, and back. Notes have no ids, because many texts of a page have a first note.

// Move to the counterpart of a button: of the nearest list of notes behind a number, or of the nearest number before a list.
function followNote(button) {
  const body = button.closest(".body");
  const {note, back} = button.dataset;
  const follows = (one, other) => (one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  let target;
  if (note) {
    const notes = [...body.querySelectorAll(".footnotes")].find(list => follows(button, list));
    target = notes?.querySelector(`[data-noted="${note}"] [data-back]`);
  } else {
    target = [...body.querySelectorAll(`[data-note="${back}"]`)].findLast(mark => follows(mark, button));
  }
  target?.scrollIntoView({block: "nearest"});
  target?.focus({preventScroll: true});
}
