"""A picture as one page of HTML that needs nothing else: the diagram, a walk through its steps with the state before
and after each, and all of it as text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from traces.explain.names import message_text, process_name
from traces.explain.why import reason
from traces.pictures.geometry import geometry_of
from traces.pictures.markup import FORBIDDEN, Attributes, tag
from traces.pictures.picture import Cone, Picture, picture_of
from traces.pictures.signs import legend
from traces.pictures.states import table_of
from traces.pictures.svg import STYLE, diagram
from traces.pictures.words import words_of
from traces.record.trace import Trace
from zabspec.language.notation import naming_processes

__all__ = ["environment", "page", "shown"]


@naming_processes
def page(trace: Trace, cone: Cone | None = None, story: Sequence[tuple[str, str]] = ()) -> str:
    """The page.

    Args:
        story: what is to be said before the run: what it is called, and it.
        cone: the step whose cone its diagram draws; None: all is drawn alike.

    Raises:
        TraceError: the trace does not break the property that it is said to break.
    """
    return environment().get_template("trace.html.j2").render(style=STYLE, run=shown(trace, cone=cone), story=story)


@cache
def environment(*packages: str) -> Environment:
    """Templates in which everything said is data.

    Args:
        packages: whose templates there are besides.
    """
    loader = ChoiceLoader([PackageLoader(name) for name in ("traces.pictures", *packages)])
    out = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    out.finalize = lambda value: FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", value) if type(value) is str else value
    return out


@naming_processes
def shown(trace: Trace, name: str = "", cone: Cone | None = None) -> dict[str, Any]:
    """What the template of a run shows.

    Args:
        trace: the run.
        name: what the names of its steps begin with, where a page shows several runs.
        cone: the step whose cone its diagram draws; None: all is drawn alike.
    """
    picture, why = picture_of(trace, cone), reason(trace)
    return {
        "name": name,
        "picture": picture,
        "events": why.events if why is not None else (),
        "diagram": drawn(picture),
        "legend": explained(picture),
        "steps": [
            {
                "number": row.number,
                "headline": row.headline,
                "named": row.named,
                "events": row.events,
                "changes": row.changes,
                "words": words_of(trace.model, step),
                "message": message_text(step.message, trace.model) if step.message is not None else "",
            }
            for row, step in zip(picture.rows, trace.steps, strict=True)
        ],
        "data": walked(trace, picture),
    }


def drawn(picture: Picture) -> str:
    """The diagram, as a part of a page."""
    g = geometry_of(picture)
    size: Attributes = {"width": g.width, "height": g.height, "viewBox": f"0 0 {g.width:.0f} {g.height:.0f}"}
    least = f"min-width:{0.7 * g.width:.0f}px"  # it shrinks so far, and is then scrolled
    return tag("svg", {"class": "zp diagram", "aria-hidden": "true", "style": least, **size}, diagram(picture, g))


def explained(picture: Picture, width: float = 1040) -> str:
    """What the signs of the diagram mean, as a part of a page."""
    signs, height = legend(picture, width, 4)
    size: Attributes = {"width": width, "height": height, "viewBox": f"0 0 {width:.0f} {height:.0f}"}
    return tag("svg", {"class": "zp", "aria-hidden": "true", **size}, signs)


def walked(trace: Trace, picture: Picture) -> dict[str, Any]:
    """What a walk through the steps shows of the states."""
    return {
        "processes": [process_name(p) for p in range(trace.configuration.nodes)],
        "named": [row.number for row in picture.rows if row.named],
        "count": len(picture.rows),
        "fields": [
            {"name": k.name, "doc": k.doc, "of": k.whose, "kept": k.kept, "cells": k.cells} for k in table_of(trace)
        ],
    }
