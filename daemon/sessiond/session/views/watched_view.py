"""A view of the tree in the path layout, as a client shows it: its rows at one moment, and what changes until another.

A snapshot has one span for each piece of the layout, and one byte for each row of the tree. So a comparison of two
snapshots costs the forks, and does not depend on what was appended in between.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress, islice
from typing import Final, NamedTuple

from sessiond.session.tree.chains import Chains
from sessiond.session.tree.marks import Label
from sessiond.session.tree.steps import ROWS_A_STEP, Read, ReadStored, Steps
from sessiond.session.tree.tree import KIND, NONE, Tree
from sessiond.session.views.filters import Filter
from sessiond.session.views.outline import Open, Outline, PathLayout, TreeMoment, matching
from sessiond.session.views.path_layout import Piece
from sessiond.session.views.view import RowShape, View

_LABEL: Final = KIND["label"]
_SPANS_A_STEP: Final = 250
_EQUAL_SPANS_A_STEP: Final = 5_000


class RowSpan(NamedTuple):
    """Visible rows of one chain that follow one another in the layout."""

    start: int
    """The first row, visible or not."""
    end: int
    """The row after the last one."""
    above: int
    """The visible parent of the first visible row."""
    depth: int
    indent: int
    gutter: str
    first_gutter: str
    """The columns of the first visible row."""
    row_count: int
    """The number of visible rows."""
    child_count: int
    """The visible children of the last row. Any other row has one."""
    hidden: int
    """The number of rows that are folded in the last row."""


class RowChange(NamedTuple):
    """A change of the rows that a client has: `removed` rows from `place` on become the rows of a new snapshot."""

    place: int
    removed: int
    rows: range
    """The places of the new rows in the new snapshot."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows that two snapshots have in common: their first place in each of them, and their number."""

    old: int
    new: int
    count: int


class Snapshot:
    """The rows of a view at one moment. They have places, which count from 0.

    Attributes:
        moment: The state of the tree.
        labels: The labels of the tree.
        tip: The place of the row that shows the leaf, its own or that of its nearest visible ancestor; `NONE` for none.
        entry_count: The number of entries of the tree, visible or not.
        spans: The spans, in the order of the layout.
        marks: One byte for each row of the tree: 1 for a visible row.
        first_places: The place of the first row of each span, and the number of all rows.
        by_row: The indexes of the spans, by their first rows.
        starts: The first rows of the spans, in ascending order.
    """

    def __init__(
        self, spans: list[RowSpan], first_places: "array[int]", by_row: list[int], marks: bytes,
        labels: Mapping[str, Label], moment: TreeMoment, tip_row: int, entry_count: int,
    ) -> None:  # fmt: skip
        self.moment = moment
        self.labels = labels
        self.entry_count = entry_count
        self.spans = spans
        self.marks = marks
        self.first_places = first_places
        self.by_row = by_row
        self.starts = array("i", [spans[index].start for index in by_row])
        self.tip = self.place_of(tip_row)

    def __len__(self) -> int:
        return self.first_places[-1]

    def place_of(self, row: int) -> int:
        """Return the place of a row, or `NONE` if the layout does not show it."""
        at = bisect_right(self.starts, row) - 1
        if at < 0 or self.marks[row : row + 1] != b"\x01":
            return NONE
        index = self.by_row[at]
        span = self.spans[index]
        if row >= span.end:
            return NONE
        return self.first_places[index] + self.marks.count(1, span.start, row)

    def row_at(self, place: int) -> int:
        """Return the row at a place."""
        return next(self._rows_of(*self._span_at(place)))

    def shapes(self, places: range) -> list[RowShape]:
        """Return the shapes of the rows at some places that follow one another."""
        found: list[RowShape] = []
        place = places.start
        while place < places.stop:
            span, skipped = self._span_at(place)
            rows = list(islice(self._rows_of(span, skipped), places.stop - place))
            last = self.marks.rfind(1, span.start, span.end)
            above = self._above(span, rows[0])
            for number, row in enumerate(rows, skipped):
                is_last = row == last
                gutter = span.gutter if number else span.first_gutter
                found.append(
                    RowShape(
                        row, above, span.depth + number, span.indent, span.child_count if is_last else 1,
                        gutter[-1:] != "+" or bool(number), gutter, span.hidden if is_last else 0,
                    )
                )  # fmt: skip
                above = row
            place += len(rows)
        return found

    def on_path(self, places: range, shapes: Sequence[RowShape]) -> set[int]:
        """Return the rows, of some rows, that are on the path to the leaf: all without indentation, up to the tip."""
        return {
            shape.row
            for place, shape in zip(places, shapes, strict=True)
            if not shape.indent and place <= self.tip
        }

    def _span_at(self, place: int) -> tuple[RowSpan, int]:
        """Return the span of a place, and the number of its rows before that."""
        index = bisect_right(self.first_places, place) - 1
        return self.spans[index], place - self.first_places[index]

    def _rows_of(self, span: RowSpan, skipped: int) -> Iterator[int]:
        return islice(compress(range(span.start, span.end), self.marks[span.start : span.end]), skipped, None)

    def _above(self, span: RowSpan, row: int) -> int:
        before = self.marks.rfind(1, span.start, row)
        return span.above if before < 0 else before

    def edges(self, span: RowSpan, row: int) -> tuple[int, str, int, int]:
        """Return the fields that a row has because it is the first or the last one of its span."""
        before = self.marks.rfind(1, span.start, row)
        above, gutter = (span.above, span.first_gutter) if before < 0 else (before, span.gutter)
        is_last = self.marks.find(1, row + 1, span.end) < 0
        return (above, gutter, span.child_count, span.hidden) if is_last else (above, gutter, 1, 0)


NOTHING: Final = Snapshot([], array("i", [0]), [], b"", {}, TreeMoment(0, NONE), NONE, 0)
"""The snapshot of a client that has no rows yet."""


class WatchedView:
    """A view in the path layout, for snapshots.

    Args:
        filter: The filter that rows pass.
        query: Words that all occur in the text of a row.
        open: The open branches.
        around_row: A row that must not be in a folded branch: the branches above it are opened, too. `NONE` for none.

    Attributes:
        open: The open branches.
        shown_row: The row that shows `around_row`; `NONE` before the first snapshot, and without it.
    """

    def __init__(self, filter: Filter, query: str, open: Open, around_row: int) -> None:
        self._filter: Filter = filter
        self._words = query.casefold().split()
        self.open = open
        self._around_row = around_row
        self.shown_row = NONE
        self._labels: dict[str, Label] = {}
        self._looked_for_labels = 0
        self._marks = b""
        self._before: tuple[list[Piece], list[RowSpan | None], bytes] = [], [], b""
        self._query_view: tuple[Outline, View] | None = None

    def snapshot(self, tree: Tree, outline: Outline, read: Read, read_stored: ReadStored) -> Steps[Snapshot]:
        """Return the rows of the view now; the arguments are those of `tree_view.tree_rows`."""
        yield from outline.extend(tree, read, read_stored)
        return (yield from outline.exclusively(self._snapshot(tree, outline, read)))

    def _snapshot(self, tree: Tree, outline: Outline, read: Read) -> Steps[Snapshot]:
        moment = outline.moment(tree)
        labeled = self._new_labels(tree)
        view = yield from outline.view(tree, read, moment, self._filter, "", NONE)
        if self._words:
            view = yield from self._found(tree, outline, view, labeled, read)
        tip = NONE if moment.leaf == NONE else (yield from view.nearest_visible(moment.leaf))
        if self._around_row != NONE:
            self.shown_row = yield from view.nearest_visible(self._around_row)
            layout = yield from outline.layout(view, moment.leaf, self.open, self.shown_row)
            self.open = Open(self.open.is_all, self.open.rows | layout.opened)
            self._around_row = NONE
        else:
            layout = yield from outline.layout(view, moment.leaf, self.open)
        spans_of_pieces = yield from _spans(outline, view, layout, self._before)
        marks = bytes(view.marks)
        self._before = layout.pieces, spans_of_pieces, marks
        spans = [span for span in spans_of_pieces if span is not None]
        first_places = array("i", accumulate((span.row_count for span in spans), initial=0))
        yield
        by_row = sorted(range(len(spans)), key=lambda index: spans[index].start)
        yield
        return Snapshot(spans, first_places, by_row, marks, self._labels, moment, tip, tree.count_entries())

    def _new_labels(self, tree: Tree) -> set[str]:
        """Read the labels if there are new ones. Returns the ids of the entries whose label has changed."""
        first, self._looked_for_labels = self._looked_for_labels, tree.committed
        if not tree.irregular and _LABEL not in tree.kinds(first, tree.committed):
            return set()
        before, self._labels = self._labels, dict(tree.labels)
        return different_labels(before, self._labels)

    def _found(self, tree: Tree, outline: Outline, view: View, labeled: set[str], read: Read) -> Steps[View]:
        """Return a view of the rows of a view in which all words occur. Only rows that have changed are searched."""
        marks = bytes(view.marks)
        if self._query_view is None or self._query_view[0] is not outline or tree.irregular:
            self._query_view, self._marks = (outline, View(outline.chains)), b""
        found = self._query_view[1]
        changed = yield from _different(self._marks, marks)
        changed += [row for row in map(tree.row, labeled) if row is not None and row < len(self._marks)]
        is_first, self._marks = not self._marks, marks
        hits = found.marks[: len(marks)].ljust(len(marks), b"\0")
        for row in changed:
            hits[row] = 0
        for row in (
            yield from matching(tree, sorted(row for row in changed if marks[row]), self._words, read)
        ):
            hits[row] = 1
        found.update(hits, None if is_first else changed)
        return found


def different_labels(one: Mapping[str, Label], other: Mapping[str, Label]) -> set[str]:
    """Return the ids of the entries whose labels differ."""
    if one is other:
        return set()
    ids = {
        entry_id
        for entry_id, label in one.items()
        if entry_id not in other or other[entry_id].text != label.text
    }
    return ids | (other.keys() - one.keys())


def window_around(new: Snapshot, row: int, limit: int) -> range:
    """Return the places of at most `limit` rows with a row in the middle, or the row that shows the leaf for `NONE`."""
    place = new.tip if row == NONE else new.place_of(row)
    start = max(min(place - limit // 2, len(new) - limit), 0)
    return range(start, min(start + limit, len(new)))


def window_in(new: Snapshot, old: Snapshot, had: range) -> range | None:
    """Return the places of the rows of a newer snapshot that a client will have: from its first row to its last one.

    If these were the first or the last one of the view, new rows before or after them are included.

    Returns:
        The places; None if one of the two rows is not shown any more, or another one lies between them and the first.
    """
    first = 0 if had.start == 0 else new.place_of(old.row_at(had.start))
    last = len(new) - 1 if had.stop == len(old) else new.place_of(old.row_at(had.stop - 1))
    if NONE in (first, last) and len(new):
        return None
    return range(first, last + 1) if first <= last + 1 else None


def _spans(
    outline: Outline, view: View, layout: PathLayout, before: tuple[list[Piece], list[RowSpan | None], bytes]
) -> Steps[list[RowSpan | None]]:
    """Return the span of each piece of a layout, None for one without visible rows.

    Args:
        outline: The outline of the tree.
        view: The view.
        layout: Its layout.
        before: The pieces, the spans and the marks of the last snapshot. If the pieces are still the same, so are the
            spans before the first row that has changed, unless they are folded.

    """
    chains, marks = outline.chains, view.marks
    pieces, known, known_marks = before
    unchanged = 0
    if pieces is layout.pieces:
        same = _common_start(known_marks, bytes(marks[: len(known_marks)]))
        unchanged = max(min(same, len(known_marks) - 1), 0)  # the last chain of the log may have grown
    spans: list[RowSpan | None] = []
    for number, piece in enumerate(layout.pieces):
        span = known[number] if unchanged else None
        if span is None or span.end > unchanged or piece.is_folded:
            span = yield from _span(chains, view, piece)
        spans.append(span)
        if number % _SPANS_A_STEP == 0:
            yield
    return spans


def _span(chains: Chains, view: View, piece: Piece) -> Steps[RowSpan | None]:
    end = piece.end if piece.end != NONE else chains.end(chains.chain_of(piece.start))
    end = min(end, len(view.marks))
    last = view.marks.rfind(1, piece.start, end)
    if last < 0:
        return None
    child_count = (yield from view.children(last)).total
    hidden = 0
    if piece.is_folded and child_count:
        hidden = (yield from view.count_below(last)) - 1
    return RowSpan(
        piece.start, end, piece.above, piece.depth, piece.indent, piece.gutter, piece.first_gutter,
        view.marks.count(1, piece.start, end), child_count, hidden,
    )  # fmt: skip


def changes(old: Snapshot, new: Snapshot, had: range, has: range) -> Steps[list[RowChange]]:
    """Return the changes from the rows of a snapshot to those of a newer one of the same view, the last change first.

    Args:
        old: The snapshot.
        new: The newer one.
        had: The places in `old` of the rows that the client has.
        has: The places in `new` of the rows that it will have.

    """
    alike, end = (yield from _equal_spans(old, new, 1)), len(new.spans)
    runs = [_Run(0, 0, new.first_places[alike])]
    if alike < min(len(old.spans), end):
        at_end = min((yield from _equal_spans(old, new, -1)), min(len(old.spans), end) - alike)
        end -= at_end
        places = old.first_places[len(old.spans) - at_end], new.first_places[end]
        runs.append(_Run(*places, len(new) - places[1]))
    for index in range(alike, end):
        runs += _common(old, new, index)
        if index % _SPANS_A_STEP == 0:
            yield
    found: list[RowChange] = []
    old_place, new_place = had.start, has.start
    for run in (*(yield from _in_order(runs, had, has)), _Run(had.stop, has.stop, 0)):
        if run.old > old_place or run.new > new_place:
            found.append(RowChange(old_place - had.start, run.old - old_place, range(new_place, run.new)))
        old_place, new_place = run.old + run.count, run.new + run.count
    return found[::-1]


def _equal_spans(old: Snapshot, new: Snapshot, step: int) -> Steps[int]:
    """Return how many spans at the start (`step` is 1) or at the end (-1) are equal, and have the same visible rows."""
    same = _common_start(old.marks, new.marks[: len(old.marks)])
    count = 0
    for count, (span, other) in enumerate(zip(old.spans[::step], new.spans[::step], strict=False)):
        if span != other or span.end > same:
            return count
        if count % _EQUAL_SPANS_A_STEP == 0:
            yield
    return min(len(old.spans), len(new.spans))


def _common(old: Snapshot, new: Snapshot, index: int) -> Iterator[_Run]:
    """Yield the rows of a span of `new` that are the same in `old`."""
    span = new.spans[index]
    for at in range(max(bisect_right(old.starts, span.start) - 1, 0), bisect_left(old.starts, span.end)):
        other = old.spans[old.by_row[at]]
        start, end = max(span.start, other.start), min(span.end, other.end)
        if start < end and (span.indent, span.gutter) == (other.indent, other.gutter):
            marks, new_marks = old.marks[start:end], new.marks[start:end]
            same = _common_start(marks, new_marks)
            yield from _run(old, new, old.by_row[at], index, range(start, start + same))
            if start + same < end:
                same = _common_start(marks[::-1], new_marks[::-1])
                yield from _run(old, new, old.by_row[at], index, range(end - same, end))


def _run(old: Snapshot, new: Snapshot, old_index: int, new_index: int, rows: range) -> Iterator[_Run]:
    """Yield the equal rows of two spans. The rows have the same marks in both snapshots."""
    other, span = old.spans[old_index], new.spans[new_index]
    first, last = new.marks.find(1, rows.start, rows.stop), new.marks.rfind(1, rows.start, rows.stop)
    if first < 0:
        return
    count = new.marks.count(1, first, last + 1)
    before, new_before = old.marks.count(1, other.start, first), new.marks.count(1, span.start, first)
    if other.depth + before != span.depth + new_before:
        return
    skipped = old.edges(other, first) != new.edges(span, first)
    if count > 1 and old.edges(other, last) != new.edges(span, last):
        count -= 1
    if count > skipped:
        yield _Run(
            old.first_places[old_index] + before + skipped,
            new.first_places[new_index] + new_before + skipped,
            count - skipped,
        )


def _in_order(runs: list[_Run], had: range, has: range) -> Steps[list[_Run]]:
    """Return runs in the order of both snapshots, if the client has their rows. If two runs cross, one stays."""
    chosen: list[_Run] = []
    for number, run in enumerate(sorted(runs, key=lambda run: -run.count)):
        skipped = max(had.start - run.old, has.start - run.new, 0)
        count = min(run.count, had.stop - run.old, has.stop - run.new) - skipped
        if count > 0:
            run = _Run(run.old + skipped, run.new + skipped, count)
            at = bisect_right(chosen, run.new, key=lambda run: run.new)
            if (at == 0 or chosen[at - 1].old < run.old) and (at == len(chosen) or run.old < chosen[at].old):
                chosen.insert(at, run)
        if number % _SPANS_A_STEP == 0:
            yield
    return chosen


def _common_start(one: bytes, other: bytes) -> int:
    """Return the number of equal bytes at the start of two texts."""
    low, high = 0, len(one)
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _different(old: bytes, new: bytes) -> Steps[list[int]]:
    """Return the rows with other marks, and the new rows."""
    found: list[int] = []
    for start in range(0, len(old), ROWS_A_STEP):
        some = old[start : start + ROWS_A_STEP]
        others = new[start : start + len(some)]
        if some != others:
            found += [
                start + at for at, pair in enumerate(zip(some, others, strict=True)) if pair[0] != pair[1]
            ]
            yield
    return [*found, *range(len(old), len(new))]
