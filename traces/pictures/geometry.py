"""Where everything of a picture lies, in pixels: a lane a process, a row a step, time downwards.

A row belongs to one step, and so does the text in it: two labels never meet. What is said of a step stands beside its
dot, on the side from which nothing arrives there; what was sent and never received has a line of its own below.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from traces.explain.flights import Fate
from traces.explain.names import process_names
from traces.pictures.picture import Arrow, Picture, Row

__all__ = ["BAND", "LETTER", "LINE", "Geometry", "Line", "Placed", "geometry_of"]

GUTTER = 44  # the step's number
BAND = 15  # how wide a lane is drawn
LINE = 15  # from one line of text to the next
LEAST_ROW = 27
LETTER = 6.3  # how wide a letter of a label is, at the most on average
LEAST_LANE = 104
MOST_LANE = (196, 176, 150)  # of up to three lanes, of up to five, of more
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
        text: it.
        what: `label`, `fault`, or what the mark is that it belongs to.
        first: it begins what it belongs to.
        named: the sentence names it.
    """

    text: str
    what: str
    first: bool
    named: bool


@dataclass(frozen=True)
class Unreceived:
    """Messages of one step that were sent alike and never received: a line from their source towards each target.

    Attributes:
        lines: what is said of them.
        arrows: they.
    """

    lines: tuple[str, ...]
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True)
class Placed:
    """A row with its place.

    Attributes:
        row: it.
        top, height: where it is.
        y: where its dot is, and where its messages start and end.
        side: 1: the text is right of the lane; -1: left.
        lines: the text beside the lane.
        unreceived: what it sent that was never received.
        column: what is said of it beside all lanes: text, and whether the sentence names it.
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
    """Where everything lies.

    Attributes:
        lanes: the middle of each lane.
        rows: the rows.
        column: where the column of what the steps are called begins.
        width, height: of all of it.
    """

    lanes: tuple[float, ...]
    rows: tuple[Placed, ...]
    column: float
    width: float
    height: float

    def y(self, number: int) -> float:
        """Where a step is; 0: where the lanes begin; one beyond the last: where they end."""
        if 1 <= number <= len(self.rows):
            return self.rows[number - 1].y
        return HEAD - 6 if number < 1 else self.height - 4


def geometry_of(picture: Picture) -> Geometry:
    """Where everything of a picture lies, from its upper left corner."""
    wide = lane_width(picture)
    sides = [side_of(picture, row) for row in picture.rows]
    left = (
        wide * 0.86
        if any(s < 0 and row.processes[:1] == (0,) for s, row in zip(sides, picture.rows, strict=True))
        else 26
    )
    lanes = tuple(GUTTER + left + k * wide for k in range(len(picture.lanes)))
    beside = lanes[-1] + wide * 0.9 + 12
    letters = int((wide - 26) / LETTER)
    at: float = HEAD
    rows = []
    for row, side in zip(picture.rows, sides, strict=True):
        placed = placed_row(picture, row, at, side, letters)
        rows.append(placed)
        at += placed.height
    return Geometry(lanes, tuple(rows), beside, beside + COLUMN, at + 12)


def lane_width(picture: Picture) -> float:
    """How far lanes are apart: so that most labels fit."""
    lengths = [len(word) for row in picture.rows for word in (row.label, *(m.text for m in row.marks))]
    most = MOST_LANE[0 if len(picture.lanes) <= 3 else 1 if len(picture.lanes) <= 5 else 2]
    return min(most, max(LEAST_LANE, max(lengths, default=0) * LETTER + 34))


def side_of(picture: Picture, row: Row) -> int:
    """On which side of its lane a step is said: the one that its message does not come from."""
    received = (Fate.RECEIVED, Fate.COPIED)
    came = [a.flight.message for a in picture.arrows if a.flight.ended == row.number and a.flight.fate in received]
    return -1 if came and row.processes == (came[0].destination,) and came[0].source > came[0].destination else 1


def placed_row(picture: Picture, row: Row, top: float, side: int, letters: int) -> Placed:
    """A row, as high as what is said in it."""
    what = "fault" if row.fault else "label"
    lines = [Line(t, what, k == 0, row.last) for k, t in enumerate(folded(row.label, letters))]
    for m in row.marks:
        lines += [Line(t, m.what, k == 0, m.named) for k, t in enumerate(folded(m.text, letters - 2))]
    below = unreceived(picture, row, letters)
    count = len(lines) + sum(len(u.lines) for u in below)
    column = [(t, row.named) for t in folded(f"{row.headline}", int(COLUMN / LETTER))]
    said = {m.text for m in row.marks}
    for event in row.events:
        if not any(event.endswith(text) or text in event for text in said):
            column += [(t, True) for t in folded(event, int(COLUMN / LETTER))]
    height = max(LEAST_ROW, 12 + LINE * max(count, len(column)))
    return Placed(row, top, height, top + 13, side, tuple(lines), tuple(below), tuple(column))


def unreceived(picture: Picture, row: Row, letters: int) -> list[Unreceived]:
    """What a step sent that was never received, alike together."""
    together: dict[tuple[str, str], list[Arrow]] = {}
    for a in picture.arrows:
        f = a.flight
        if f.sent == row.number and f.fate in SAID:
            together.setdefault((a.label, SAID[f.fate].format(f.ended)), []).append(a)
    out = []
    for (label, fate), arrows in together.items():
        to = process_names([a.flight.message.destination for a in arrows])
        out.append(Unreceived(tuple(folded(f"{label} to {to}: {fate}", letters)), tuple(arrows)))
    return out


def folded(said: str, letters: int) -> Sequence[str]:
    """Text in lines; a word that is longer stays whole."""
    return textwrap.wrap(said, max(8, letters), break_long_words=False, break_on_hyphens=False) or [""]
