"""Produce what a page shows of a place, as plain JSON: steps, properties, state, budgets, and the way as lanes.

A server and a saved page use the same functions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from traces.explain.effects import changes
from traces.explain.names import headline, message_text, process_name
from traces.explain.text import configuration_text
from traces.pages.markup import Attributes, tag, text
from traces.pictures.geometry import HEAD, Geometry, geometry_of
from traces.pictures.picture import Cone, Picture, picture_of, rules_changed
from traces.pictures.states import table_of
from traces.pictures.svg import diagram
from traces.pictures.words import words_of
from traces.record.trace import Step, Trace
from traces.walk.walker import UNDECIDED, VIOLATED, Possible, Verdict, Walker, WalkPlace
from zabspec.language.layout.notation import naming_processes, with_names

CROP = HEAD - 8  # of the diagram, where the names of the lanes are: these stay in sight by themselves


@naming_processes
def about(walker: Walker) -> dict[str, Any]:
    """Return what holds at every place of a model: its configuration, changed rules and processes."""
    c = walker.model.configuration
    return {
        "configuration": configuration_text(c),
        "changed": list(rules_changed(walker.start.trace())),
        "processes": [process_name(p) for p in range(c.nodes)],
    }


@naming_processes
def shown(place: WalkPlace) -> dict[str, Any]:
    """Return what a page shows of a place, without the picture of the way to it."""
    return {
        "depth": len(place.path),
        "came": came(place),
        "steps": [possible(place, p) for p in place.possible],
        "properties": [verdict(place, v) for v in place.verdicts] + runtime(place),
        "budgets": budgets(place),
        "fields": fields(place),
    }


def came(place: WalkPlace) -> dict[str, Any] | None:
    """Return the last step of the way, or None at the initial state."""
    if place.parent is None:
        return None
    step = place.steps[-1]
    return {"number": step.number, **said(place.walker, step), "changes": done(place.parent, step)}


def said(walker: Walker, step: Step) -> dict[str, Any]:
    """Return who takes a step, its label in the source, and its message."""
    return {
        "headline": headline(step),
        "docs": [list(pair) for pair in words_of(walker.model, step)],
        "message": message_text(step.message, walker.model) if step.message is not None else "",
    }


def done(before: WalkPlace, step: Step) -> list[str]:
    """Return what a step changes, one line each."""
    return changes(one_step(before, step), 1)


def one_step(before: WalkPlace, step: Step) -> Trace:
    """Return a step as a trace of its own, from the state in which it is taken."""
    return replace(before.trace(), initial=before.json, steps=(step,))


def possible(place: WalkPlace, p: Possible) -> dict[str, Any]:
    """Return what a page shows of a possible step."""
    if p.fault:
        group = "faults"
    elif p.step.process is None:
        group = "environment"
    else:
        group = process_name(p.step.process)
    return {
        "index": p.index,
        "group": group,
        **said(place.walker, p.step),
        "alternative": f"alternative {p.alternative} of {p.choices}" if p.choices > 1 else "",
        "changes": [] if p.failure is not None else done(place, p.step),
        "spends": [name.replace("_", " ") for name in p.spends],
        "fails": p.failure.text if p.failure is not None else "",
        "violates": list(p.violates),
    }


def verdict(place: WalkPlace, v: Verdict) -> dict[str, Any]:
    """Return what a page shows of a property at a place."""
    here = len(place.path)
    events = place.events(v.property) if v.verdict == VIOLATED else ()
    return {
        "name": v.property.name,
        "statement": v.property.statement,
        "source": v.property.source,
        "premise": v.property.premise,
        "verdict": v.verdict,
        "because": with_names(v.because) or (f"The state violates {v.property.name}." if v.verdict == VIOLATED else ""),
        "events": [list(pair) for pair in events],
        "premise_at": v.premise_at,
        "violated_at": v.violated_at,
        "here": v.violated_at == here or v.premise_at == here,
    }


def runtime(place: WalkPlace) -> list[dict[str, Any]]:
    """Return the verdict on `no-runtime-error`; empty if no run-time error is met or possible here."""
    failing = [(p.index + 1, p.failure) for p in place.possible if p.failure is not None]
    met = [] if place.failure is None else [(0, place.failure)]
    if not failing and not met:
        return []
    number, failure = min(met + failing, key=lambda one: bool(one[1].widen))  # the author's, if there is one
    where = f"Step {number} of those below has a run-time error: " if number else ""
    return [
        {
            "name": "no-runtime-error",
            "statement": "No value leaves a range that its author declared.",
            "source": "built in",
            "premise": "a step is taken",
            "verdict": UNDECIDED if failure.widen else VIOLATED,
            "because": f"{where}{failure.text}.",
            "events": [],
            "premise_at": 0,
            "violated_at": None if number or failure.widen else len(place.path),
            "here": True,
        }
    ]


def budgets(place: WalkPlace) -> list[dict[str, Any]]:
    """Return the remainder and the amount of each budget."""
    first = dict(place.walker.budgets(place.walker.initial))
    left = dict(place.walker.budgets(place.json))
    return [{"name": n.replace("_", " "), "left": k, "of": first[n]} for n, k in left.items() if first[n]]


def fields(place: WalkPlace) -> list[dict[str, Any]]:
    """Return every field of the state, with its previous value if the last step changed it."""
    before = place.parent or place
    trace = one_step(before, place.steps[-1]) if place.parent is not None else before.trace()
    out = []
    for kept in table_of(trace):
        cells = [{"now": cell[-1][1], **({"was": cell[0][1]} if len(cell) > 1 else {})} for cell in kept.cells]
        out.append({"name": kept.name, "doc": kept.doc, "of": kept.whose, "kept": kept.kept, "cells": cells})
    return out


# --- the picture -----------------------------------------------------------------------------------


@naming_processes
def drawn(whole: WalkPlace, at: int) -> dict[str, Any]:
    """Return a way as lanes, with fixed heads; steps beyond the current one are faint.

    Args:
        whole: the place at the end of the way.
        at: the number of steps up to the current place.
    """
    count = len(whole.path)
    beyond = Cone(at, frozenset(range(at + 1, count + 1))) if at < count else None
    picture = picture_of(whole.trace(), beyond)
    return {
        "desk": lanes(picture, geometry_of(picture)),
        "phone": lanes(picture, geometry_of(picture, narrow=True)),
        "headlines": [row.headline for row in picture.rows],
        "rows": [[[process_name(p) for p in row.processes], *row.changes] for row in picture.rows],
    }


def lanes(picture: Picture, g: Geometry) -> dict[str, Any]:
    """Return the lanes, their heads separately, and the horizontal middle of each step's lane in pixels.

    The column of step names is left out: the names are beside the dots and in the text below.
    """
    heads = "".join(
        tag("text", {"class": "strong", "x": x, "y": 17, "text-anchor": "middle"}, text(name))
        for name, x in zip(picture.lanes, g.lanes, strict=True)
    )
    return {
        "width": round(g.column),
        "lanes": [round(g.lanes[row.processes[0]]) if row.processes else 0 for row in picture.rows],
        "heads": svg(heads, g.column, 0, 24),
        "body": svg(diagram(picture, g), g.column, CROP, g.height - CROP),
    }


def svg(inside: str, width: float, top: float, height: float) -> str:
    """Return a part of the picture as an SVG element."""
    size: Attributes = {
        "width": round(width),
        "height": round(height),
        "viewBox": f"0 {top:.0f} {width:.0f} {height:.0f}",
    }
    return tag("svg", {"xmlns": "http://www.w3.org/2000/svg", "class": "zp", "aria-hidden": "true", **size}, inside)
