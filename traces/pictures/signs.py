"""Draw the signs of a picture, and explain them in a legend."""

from __future__ import annotations

from collections.abc import Iterator

from traces.explain.flights import Fate
from traces.pages.colours import PALETTE
from traces.pages.markup import tag, text
from traces.pictures.picture import Picture

# The sign before a mark.
SIGNS = {"abcast": "up", "deliver": "box", "establish": "star", "accept": "ring", "show": "eye"}
SHAPES = {
    "up": "M0 -6L6 5L-6 5Z",
    "box": "M0 -6L6 0L0 6L-6 0Z",
    "star": "M0 -7L2 -2L7 -2L3 1L5 6L0 3L-5 6L-3 1L-7 -2L-2 -2Z",
    "ring": "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z",
    "eye": "M-5 -4H5V4H-5Z",
}
MEANS = {
    "abcast": "abcast: broadcast by a primary",
    "accept": "accepted into the process's history",
    "establish": "established as leader",
    "deliver": "abdeliver: delivered",
    "show": "shown to the outside",
}


def hue(epoch: int | None) -> str:
    """Return the suffix of the style class that colours an epoch."""
    return "-none" if epoch is None else str(epoch % len(PALETTE))


def mark(sign: str, x: float, y: float, named: bool) -> str:
    """Return the markup of an event's sign."""
    where = f"translate({x:.1f} {y:.1f})"
    hollow = sign == "ring"
    how = ("arrow badline" if named else "arrow l0") if hollow else "bad" if named else "f0"
    return tag("path", {"class": how, "d": SHAPES[sign], "transform": where})


def legend(picture: Picture, width: float, top: float) -> tuple[str, float]:
    """Return the legend of the signs that occur, and the height in pixels at which it ends."""
    parts, x, y = [], 20.0, top + 8
    for sign, said in signs(picture):
        long = 34 + len(said) * 5.9 + 14
        if x + long > width and x > 20:
            x, y = 20.0, y + 20
        parts.append(tag("g", {"transform": f"translate({x:.1f} {y:.1f})"}, sign))
        parts.append(tag("text", {"class": "faint", "x": x + 32, "y": y + 4}, text(said)))
        x += long
    return tag("g", {"class": "legend"}, "".join(parts)), y + 14


def signs(picture: Picture) -> Iterator[tuple[str, str]]:
    """Yield the signs that occur, each with its meaning.

    A sign has 28 by 14 pixels; the middle of its left edge is at 0 0.
    """
    fates = {a.flight.fate for a in picture.arrows}
    marked = {m.what for row in picture.rows for m in row.marks}
    broken = tag("line", {"class": "arrow dash l0", "x1": 0, "x2": 20, "y1": 0, "y2": 0})
    if fates & {Fate.RECEIVED, Fate.COPIED}:
        point = tag("path", {"class": "f0", "d": "M28 5L19 6L21 -1Z"})
        yield tag("path", {"class": "arrow l0", "d": "M0 -5L24 4"}) + point, "message, from its sending to its receipt"
    if Fate.IN_FLIGHT in fates:
        ring = tag("circle", {"class": "open l0", "stroke-width": "1.6", "cx": 24, "cy": 0, "r": 4})
        yield broken + ring, "sent, not yet received when the run ends"
    if fates & {Fate.LOST, Fate.DROPPED, Fate.OVERTAKEN, Fate.REFUSED}:
        cross = tag("path", {"class": "arrow l0", "stroke-width": "2", "d": "M20 -4l8 8m0 -8l-8 8"})
        yield broken + cross, "sent and lost"
    for what, said in MEANS.items():
        if what in marked:
            yield mark(SIGNS[what], 14, 0, False), said
    if any(row.fault for row in picture.rows):
        yield tag("path", {"class": "fault", "d": "M8 -6l12 12m0 -12l-12 12"}), "fault"
    for epoch in epochs(picture):
        box = tag("rect", {"class": f"t{hue(epoch)}", "x": 8, "y": -7, "width": 14, "height": 14})
        yield box, f"{picture.epoch_field} {epoch}"
    if any(row.named for row in picture.rows):
        yield tag("circle", {"class": "bad", "cx": 14, "cy": 0, "r": 8}), "step that the sentence above is about"


def epochs(picture: Picture) -> list[int]:
    """Return the epochs of lanes and messages, sorted; empty if processes have no epoch."""
    seen = {s.epoch for s in picture.stretches} | {a.epoch for a in picture.arrows}
    return sorted(e for e in seen if e is not None) if picture.epoch_field else []
