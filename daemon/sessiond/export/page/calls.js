// Tool calls and their results: a result is part of the card of its call, with status, duration and number of lines.

const calls = {
  owner: new Map(),    // row of a result -> row of the message with its call
  results: new Map(),  // row of a message -> the rows of its calls' results, in order

  // Find the results on a path. Ids may repeat: a result answers the last call before it that has no result yet.
  pair(path) {
    this.owner.clear();
    this.results.clear();
    const open = new Map();
    for (const row of path) {
      const {callIds = [], resultOf} = model.rows[row];
      callIds.forEach((id, at) => { if (id) open.set(id, [row, at]); });
      const call = resultOf && open.get(resultOf);
      if (!call) continue;
      open.delete(resultOf);
      this.owner.set(row, call[0]);
      if (!this.results.has(call[0])) this.results.set(call[0], []);
      this.results.get(call[0])[call[1]] = row;
    }
  },

  // Put the results into the cards of a message.
  mount(article) {
    const row = Number(article.dataset.row);
    if (!model.rows[row]?.callIds?.length) return;
    article.querySelectorAll("details.call").forEach((card, at) => this.complete(card, row, this.results.get(row)?.[at]));
  },

  complete(card, row, result) {
    const summary = card.querySelector("summary");
    if (result === undefined) {
      summary.insertAdjacentHTML("beforeend", `<span class="outcome">no result</span>`);
      return;
    }
    const {facts = [], preview} = model.rows[result];
    const failed = facts.includes("failed");
    const parts = [duration(model.rows[row].timestamp, model.rows[result].timestamp), ...facts.filter(fact => fact !== "failed")];
    const sign = failed ? `<span role="img" aria-label="failed">✗</span>` : `<span role="img" aria-label="succeeded">✓</span>`;
    summary.insertAdjacentHTML("afterbegin", sign);
    summary.insertAdjacentHTML("beforeend", `<span class="outcome">${parts.filter(Boolean).map(escaped).join(" · ")}</span>`);
    if (failed) summary.insertAdjacentHTML("beforeend", `<span class="why" dir="auto">${escaped(preview.replace(/^\[[^\]]*\] /, ""))}</span>`);
    card.classList.add(failed ? "failed" : "done");
    card.insertAdjacentHTML("beforeend", transcript.article(result));
    // The card folds the output; a second fold in it would only be in the way.
    for (const fold of card.querySelectorAll(".result")) {
      fold.querySelector("summary")?.remove();
      fold.replaceWith(...fold.childNodes);
    }
  },
};

// The time between two entries, in words; empty if it is unknown.
function duration(from, to) {
  const seconds = (Date.parse(to) - Date.parse(from)) / 1000;
  if (!(seconds >= 0)) return "";
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
