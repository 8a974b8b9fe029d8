"""Lay out a picture in pixels: a lane per process, a row per step, time downwards.

A row belongs to one step, and so does the text in it: two labels never overlap. A step's label is beside its dot, on
the side from which no message arrives. Messages that are never received get a line of their own below.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from traces.explain.flights import Fate
from traces.explain.names import process_names
from traces.pictures.picture import Arrow, Picture, Row, Stretch

GUTTER = 44  # the step's number
NARROW_GUTTER = 34
LOOP = 20  # the line of a loop beside it
BAND = 15  # how wide a lane is drawn
LINE = 15  # the distance between two lines of text
LEAST_ROW = 27
LETTER = 6.3  # how wide a letter of a label is, at the most on average
BOLD = 7.0  # of a bold one
ROLE_LETTER = 8.1  # of a role along its lane
LEAST_LANE = 104
MOST_LANE = (196, 176, 150)  # of up to three lanes, of up to five, of more
PHONE = 358  # how wide a picture is there
NARROW_LANE = 30  # the distance of lanes there, unless their names need more
LEAST_WORDS = 120  # how wide the words beside all lanes are there
COLUMN = 300  # what the steps are called, beside the lanes
HEAD = 34  # the names of the lanes
SAID = {
    Fate.IN_FLIGHT: "still in flight",
    Fate.OVERTAKEN: "overtaken in step {}, lost",
    Fate.DROPPED: "dropped in step {}",
    Fate.LOST: "lost in step {}",
    Fate.REFUSED: "lost: no open connection",
}


@dataclass(frozen=True)
class Line:
    """A line of text beside a lane.

    Attributes:
        text: the text.
        what: `label`, `fault`, or the kind of the mark to which it belongs.
        first: whether it is the first line of its label or mark.
        named: whether the explanation names it.
    """

    text: str
    what: str
    first: bool
    named: bool


@dataclass(frozen=True)
class Unreceived:
    """The messages of one step that were sent alike and never received: a line from their source towards each target.

    Attributes:
        lines: the words beside the line.
        arrows: the messages.
    """

    lines: tuple[str, ...]
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True)
class Placed:
    """A row with its place in the picture, in pixels.

    Attributes:
        row: the row.
        top, height: where it is.
        y: where its dot is, and where its messages start and end.
        side: 1 if the text is right of the lane, -1 if it is left of it.
        lines: the text beside the lane.
        unreceived: the messages that it sent and that were never received.
        column: the words in the column beside all lanes, each with whether the explanation names it.
    """

    row: Row
    top: float
    height: float
    y: float
    side: int
    lines: tuple[Line, ...]
    unreceived: tuple[Unreceived, ...]
    column: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Geometry:
    """The places of everything in a picture, in pixels.

    Attributes:
        gutter: how far left of the lanes the numbers of steps reach.
        lanes: the middle of each lane.
        rows: the rows.
        column: where the column with the names of steps begins; the width of the picture if there is none.
        width, height: the size of the picture.
        beside: on a phone, where the words of all steps are, right of all lanes; 0 if they are beside their own lanes.
    """

    gutter: float
    lanes: tuple[float, ...]
    rows: tuple[Placed, ...]
    column: float
    width: float
    height: float
    beside: float = 0

    def y(self, number: int) -> float:
        """Return the height of a step in pixels; 0 is where lanes begin, one beyond the last where they end."""
        if 1 <= number <= len(self.rows):
            return self.rows[number - 1].y
        return HEAD - 6 if number < 1 else self.height - 4

    def gaps(self, s: Stretch, part: tuple[float, float] = (0, math.inf)) -> list[tuple[float, float]]:
        """Yield the gaps along a lane that have room for a role: without a dot, and without text from beside."""
        top, bottom = max(self.y(s.start), part[0]), min(self.y(s.end), part[1])
        return [(a, b) for a, b in self.free(s.process, top, bottom) if b - a >= len(s.role) * ROLE_LETTER + 8]

    def free(self, process: int, top: float, bottom: float) -> Iterator[tuple[float, float]]:
        """Yield the parts of a lane between two heights without a dot or text."""
        at = top
        for p in self.rows:
            if p.top + p.height < top or p.top > bottom:
                continue
            if over(p, self.lanes, self.lanes[process]) and not self.beside:
                yield at, min(bottom, p.top)
                at = max(top, p.top + p.height)
            elif process in p.row.processes and top <= p.y <= bottom:
                yield at, p.y
                at = p.y
        yield at, bottom

    def role_side(self, s: Stretch) -> int:
        """Return the side of a lane on which a role is written if its lane has no room: the side away from the step."""
        return next((-p.side for p in self.rows if p.row.number == s.start and s.process in p.row.processes), -1)


def geometry_of(picture: Picture, narrow: bool = False) -> Geometry:
    """Lay out a picture from its upper left corner.

    Args:
        narrow: as for a phone: lanes are close to each other, and all words are right of them.
    """
    gutter = (NARROW_GUTTER if narrow else GUTTER) + (LOOP if picture.loop is not None else 0)
    wide = max([NARROW_LANE, *(BOLD * len(name) + 6 for name in picture.lanes)]) if narrow else lane_width(picture)
    beside = gutter + len(picture.lanes) * wide
    room = max(LEAST_WORDS, PHONE - beside) if narrow else wide
    at: float = HEAD
    rows = []
    for row in picture.rows:
        rows.append(placed_row(picture, row, at, 1 if narrow else side_of(picture, row), room, not narrow))
        at += rows[-1].height
    if narrow:
        lanes = tuple(gutter + (k + 0.5) * wide for k in range(len(picture.lanes)))
        return Geometry(gutter, lanes, tuple(rows), beside + room, beside + room, at + 12, beside)
    before = [p for p in rows if p.side < 0 and p.row.processes[:1] == (0,)]
    left = max(wide * 0.86, *map(reach, before)) if before else 26

    def placed(left: float) -> Geometry:
        lanes = tuple(gutter + left + k * wide for k in range(len(picture.lanes)))
        beside = math.ceil(max([lanes[-1] + wide * 0.9 + 12, *(far(p, lanes) for p in rows)]))
        return Geometry(gutter, lanes, tuple(rows), beside, beside + COLUMN, at + 12)

    g = placed(left)
    roles = [s.role for s in picture.stretches if s.process == 0 and s.start and g.role_side(s) < 0 and not g.gaps(s)]
    return placed(max([left, *(BAND + ROLE_LETTER * len(role) for role in roles)]))


def lane_width(picture: Picture) -> float:
    """Return the distance of lanes in pixels at which most labels fit."""
    lengths = [len(word) for row in picture.rows for word in (row.label, *(m.text for m in row.marks))]
    most = MOST_LANE[0 if len(picture.lanes) <= 3 else 1 if len(picture.lanes) <= 5 else 2]
    return min(most, max(LEAST_LANE, max(lengths, default=0) * LETTER + 34))


def reach(p: Placed) -> float:
    """Return how far a row's text reaches from its dot, in pixels."""
    lines = [*(line.text for line in p.lines), *(line for u in p.unreceived for line in u.lines)]
    return 26 + (BOLD if p.row.named or p.row.marks or p.row.fault else LETTER) * max(map(len, lines), default=0)


def over(p: Placed, lanes: Sequence[float], x: float) -> bool:
    """Return whether a row's text may reach over a position."""
    if not p.row.processes:
        return True
    dot = lanes[p.row.processes[0]]
    return 0 < (x - dot) * p.side < reach(p) + BAND


def far(p: Placed, lanes: Sequence[float]) -> float:
    """Return how far right a row's text reaches, in pixels."""
    return lanes[p.row.processes[0] if p.row.processes else 0] + reach(p) + 8 if p.side > 0 else 0


def side_of(picture: Picture, row: Row) -> int:
    """Return the side of its lane on which a step is labelled: the one that its message does not come from."""
    received = (Fate.RECEIVED, Fate.COPIED)
    came = [a.flight.message for a in picture.arrows if a.flight.ended == row.number and a.flight.fate in received]
    return -1 if came and row.processes == (came[0].destination,) and came[0].source > came[0].destination else 1


def placed_row(picture: Picture, row: Row, top: float, side: int, wide: float, beside: bool) -> Placed:
    """Return a row with its position and height, which depends on its text.

    Args:
        picture: the picture.
        row: the row.
        top: its upper end, in pixels.
        side: the side of its text, 1 right, -1 left.
        wide: the room for its text, in pixels.
        beside: the step also has a label in the column beside all lanes.
    """
    what = "fault" if row.fault else "label"
    letters, bold = int((wide - 26) / LETTER), int((wide - 34) / BOLD)
    lines = [
        Line(t, what, k == 0, row.last)
        for k, t in enumerate(folded(row.label, bold if row.last or row.fault else letters))
    ]
    for m in row.marks:
        lines += [Line(t, m.what, k == 0, m.named) for k, t in enumerate(folded(m.text, bold - 2))]
    below = unreceived(picture, row, wide)
    count = len(lines) + sum(len(u.lines) for u in below) + (len(row.processes) != 1)  # of several: below their line
    column = [(t, row.named) for t in folded(f"{row.headline}", int(COLUMN / LETTER))]
    said = {m.text for m in row.marks}
    for event in row.events:
        if not any(event.endswith(text) or text in event for text in said):
            column += [(t, True) for t in folded(event, int(COLUMN / LETTER))]
    column = column if beside else []
    height = max(LEAST_ROW, 12 + LINE * max(count, len(column)))
    return Placed(row, top, height, top + 13, side, tuple(lines), tuple(below), tuple(column))


def unreceived(picture: Picture, row: Row, wide: float) -> list[Unreceived]:
    """Return the messages of a step that were never received, grouped by label and fate."""
    together: dict[tuple[str, str], list[Arrow]] = {}
    for a in picture.arrows:
        f = a.flight
        if f.sent == row.number and f.fate in SAID:
            together.setdefault((a.label, SAID[f.fate].format(f.ended)), []).append(a)
    out = []
    for (label, fate), arrows in together.items():
        to = process_names([a.flight.message.destination for a in arrows])
        room = int((wide - 40) / (BOLD if arrows[0].named else LETTER))  # short of the sign where it ends
        out.append(Unreceived(tuple(folded(f"{label} to {to}: {fate}", room)), tuple(arrows)))
    return out


def folded(said: str, letters: int) -> Sequence[str]:
    """Fold a text into lines of a given number of letters; a longer word stays whole."""
    return textwrap.wrap(said, max(8, letters), break_long_words=False, break_on_hyphens=False) or [""]
