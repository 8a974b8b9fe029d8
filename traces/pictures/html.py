"""Render a picture as one self-contained page of HTML: the diagram, a walk through its steps, and a text version.

The walk shows the state before and after each step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from traces.explain.effects import changed
from traces.explain.names import message_text
from traces.explain.why import reason
from traces.pages.markup import Attributes, tag, text
from traces.pages.shell import environment
from traces.pictures.geometry import Geometry, geometry_of
from traces.pictures.picture import Cone, Picture, picture_of
from traces.pictures.signs import signs
from traces.pictures.states import Kept, table_of
from traces.pictures.svg import STYLE, Pen, diagram, outside
from traces.pictures.words import words_of
from traces.record.trace import Trace
from zabspec.language.layout.notation import naming_processes

# --- fold the stretches of a run in which nothing notable happens, alike in the diagram and in the text ---

LEAST = 5  # steps of a stretch that is folded
MOST_KINDS = 6  # of steps that are named in place of a stretch
NEAR = 1  # steps next to a named one that stay unfolded


def parts(picture: Picture) -> list[tuple[int, int, bool]]:
    """Return the parts of a run, in order: the first step, the last one, and whether the part is folded.

    A step is shown if the explanation names it or a message of it, if it is a fault, or if something is marked in it.
    Where no such step exists, all of them stay unfolded.
    """
    rows = picture.rows
    named = {n for a in picture.arrows if a.named for n in (a.flight.sent, a.flight.ended)}
    told = [bool(r.named or r.fault or r.marks or r.number in named) for r in rows]
    if not any(told):
        return [(1, len(rows), False)] if rows else []
    kept = [any(told[max(0, k - NEAR) : k + NEAR + 1]) for k in range(len(rows))]
    out: list[tuple[int, int, bool]] = []
    for keep, group in groupby(enumerate(kept, 1), key=lambda each: each[1]):
        numbers = [number for number, _ in group]
        first, last, fold = numbers[0], numbers[-1], not keep and len(numbers) >= LEAST
        if out and not fold and not out[-1][2]:
            out[-1] = (out[-1][0], last, False)
        else:
            out.append((first, last, fold))
    return out


def what_happens(picture: Picture, first: int, last: int) -> str:
    """Return the kinds of the steps from `first` to `last`, in the order in which they first occur."""
    said = [row.headline.partition(": ")[2] or row.headline for row in picture.rows[first - 1 : last]]
    kinds = dict.fromkeys(
        x.partition(" on ")[2].partition(" ")[0] or x.partition(",")[0].partition(" (")[0] for x in said
    )
    named = list(kinds)[:MOST_KINDS]
    return ", ".join(named) + (f" and {len(kinds) - len(named)} more kinds" if len(kinds) > len(named) else "")


ASCENT = 11  # of a line of text 15 pixels high, above its baseline


@naming_processes
def page(trace: Trace, cone: Cone | None = None, story: Sequence[tuple[str, str]] = ()) -> str:
    """Return the HTML page of a trace.

    Args:
        trace: the trace.
        cone: the step whose causal cone is highlighted; None for no highlight.
        story: paragraphs, each as a heading and text: two to show before the run, the others after it.

    Raises:
        TraceError: the trace does not violate the property that it names.
    """
    return rendered(shown(trace, cone=cone), story)


def rendered(run: Mapping[str, Any], story: Sequence[tuple[str, str]] = (), first: str = "") -> str:
    """Return the page of one run.

    Args:
        run: the values for the template of a run.
        story: paragraphs, each as a heading and text: two to show before the run, the others after it.
        first: what the page begins with, if that is not why the run violates its property.
    """
    page = environment("traces.pictures").get_template("trace.html.j2")
    return page.render(style=STYLE, run=run, story=story, first=first)


@naming_processes
def shown(trace: Trace, name: str = "", cone: Cone | None = None) -> dict[str, Any]:
    """Return what the page template needs for a run.

    Args:
        trace: the run.
        name: the prefix of its step names, for pages with several runs.
        cone: the step whose causal cone is highlighted; None for no highlight.
    """
    picture, why = picture_of(trace, cone), reason(trace)
    steps = [
        {
            "number": row.number,
            "headline": row.headline,
            "named": row.named,
            "events": row.events,
            "changes": row.changes,
            "tabled": [c.text for c in changed(trace, row.number) if c.place and len(c.processes) == 1],
            "words": words_of(trace.model, step),
            "message": message_text(step.message, trace.model) if step.message is not None else "",
        }
        for row, step in zip(picture.rows, trace.steps, strict=True)
    ]
    run = walked(picture, steps, table_of(trace))
    return run | {"name": name} | ({"events": why.events} if why is not None else {})


def walked(picture: Picture, steps: Sequence[Mapping[str, Any]], fields: Sequence[Kept]) -> dict[str, Any]:
    """Return what the page template needs for a picture with a walk through its steps.

    Args:
        picture: what is drawn.
        steps: what is said of each step.
        fields: what the walk shows of the states.
    """
    return {
        "name": "",
        "picture": picture,
        "events": [(row.number, said) for row in picture.rows for said in row.events],
        "diagram": drawn(picture),
        "legend": explained(picture),
        "steps": steps,
        "data": {
            "processes": picture.lanes,
            "named": [row.number for row in picture.rows if row.named],
            "count": len(picture.rows),
            "fields": [{"name": k.name, "doc": k.doc, "of": k.whose, "kept": k.kept, "cells": k.cells} for k in fields],
        },
    }


class Labels(Pen):
    """Writes the text of a page over the lines of the picture, so that it has the size that a reader has set.

    Args:
        picture: what is drawn.
        g: the places of everything.
        top: the height at which the lines under the text begin.
    """

    def __init__(self, picture: Picture, g: Geometry, top: float) -> None:
        self.picture, self.g, self.top = picture, g, top
        self.said: list[str] = []

    def write(
        self, said: str, x: float, y: float, how: str = "", anchor: str = "start", step: int | None = None
    ) -> str:
        side = f"right:{self.g.width - x:.1f}px" if anchor == "end" else f"left:{x:.1f}px"
        kind = f"{how} {anchor}{' outside' if outside(self.picture, step) else ''}".strip()
        if step is not None and self.picture.rows[step - 1].named:
            kind += " on"
        place = {"class": kind, "style": f"{side};top:{y - self.top - ASCENT:.1f}px"}
        self.said.append(tag("span", place | ({"data-step": str(step)} if step is not None else {}), text(said)))
        return ""

    def turned(self, said: str, x: float, y: float) -> str:
        place = {"class": "strong turned", "style": f"left:{x:.1f}px;top:{y - self.top:.1f}px"}
        self.said.append(tag("span", place, text(said)))
        return ""


def drawn(picture: Picture) -> list[dict[str, Any]]:
    """Return the diagram as parts of a page, one below the other: the lines, and the text over them.

    It is drawn twice, for a phone and for wider screens.
    """
    both = (("wide", geometry_of(picture)), ("narrow", geometry_of(picture, narrow=True)))
    return [
        {
            "first": first, "last": last, "folded": what_happens(picture, first, last) if fold else "",
            "drawings": [
                {"kind": kind, "without": f"{g.column:.0f}", "markup": sliced(picture, g, first, last)}
                for kind, g in both
            ],
        }
        for first, last, fold in [(0, 0, False), *parts(picture)]
    ]  # fmt: skip


def sliced(picture: Picture, g: Geometry, first: int, last: int) -> str:
    """Return the markup of some steps of a diagram; step 0 stands for the names of its lanes."""
    top = g.rows[first - 1].top if first else 0.0
    bottom = g.height if last == len(g.rows) else g.rows[last].top
    pen = Labels(picture, g, top)
    size: Attributes = {
        "width": g.width,
        "height": bottom - top,
        "viewBox": f"0 {top:.0f} {g.width:.0f} {bottom - top:.0f}",
    }
    lines = tag("svg", {"class": "zp", **size}, diagram(picture, g, pen, (top, bottom)))
    return lines + tag("div", {"class": "labels", "style": f"width:{g.width:.0f}px"}, "".join(pen.said))


def explained(picture: Picture) -> list[tuple[str, str]]:
    """Return the legend: each sign of the diagram as markup, and its meaning."""
    size: Attributes = {"width": 30, "height": 20, "viewBox": "-1 -10 30 20", "class": "zp", "aria-hidden": "true"}
    return [(tag("svg", size, sign), said) for sign, said in signs(picture)]
