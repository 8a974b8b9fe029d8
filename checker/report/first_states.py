"""Explore the first states of a report again in plain Python, so that a report of a few states is checked whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from checker.explore.stuttering import EVERY_STEP
from invariants.registry import Property
from zabspec.language.reference import ERRORS
from zabspec.model import Model
from zabspec.worlds.steps import NUMBERED

Claim = Mapping[str, Any]
FIRST = 300  # distinct states that are explored again
RENAMED = 2_000  # and with symmetry no more than so many renamings of them


def unlike_first_states(report: Claim, model: Model, judged: Sequence[Property]) -> str:
    """Return where a report differs from the first states of its protocol, in words; empty if nowhere.

    Args:
        model: the one that the report says was explored.
        judged: the properties that it lists, without the built-in one.

    Raises:
        KeyboardInterrupt: a signal came.
        MemoryError: there is no more memory.
    """
    if not report["states"]["distinct"]:
        return ""
    engine = report["engine"]
    try:
        model.program.initial()
        interpreter = Interpreter(model, judged, engine["symmetry"], engine.get("stuttering_off") == EVERY_STEP)
    except ERRORS:
        return "" if report["coverage"]["error"] else "its initial state leaves a range"
    most = min(FIRST, max(2, RENAMED // model.configuration.renamings)) if engine["symmetry"] else FIRST
    found = interpreter.run(Limits(max_states=most), keep_going=True)
    if found.stopped == "interrupted":
        raise KeyboardInterrupt
    if found.stopped == "out of memory":
        raise MemoryError
    return next(differences(report, found), "")


def differences(report: Claim, found: Exploration) -> Iterator[str]:
    """Yield the differences from an exploration of the first states. Levels that it explored whole are compared."""
    levels, claimed = report["states"]["levels"], report["coverage"]
    whole = min(found.expanded_levels, len(found.levels) - 1)
    if report["engine"]["ample_sets"]:
        if found.complete:
            yield f"states were left out, but there are only {found.distinct:,}"
        return
    if found.error and claimed["complete_depth"] > whole:
        to = claimed["complete_depth"]
        yield f"all states to depth {to} were explored, but beyond depth {whole} a value leaves its range"
    if found.complete and len(levels) > len(found.levels):
        yield f"states at depth {len(levels) - 1}, but the deepest states have depth {whole}"
    if claimed["exhausted"] and whole > len(levels) - 1:
        yield f"explored to exhaustion at depth {len(levels) - 1}, but there are states at depth {whole}"
    for depth in range(min(whole, claimed["complete_depth"]) + 1):
        if levels[depth] != found.levels[depth]:
            yield f"{levels[depth]:,} states at depth {depth}, but there are {found.levels[depth]:,}"
    if found.complete and claimed["exhausted"] and not report["engine"]["reduced"]:
        yield from counted_otherwise(report, found)
    for p in report["properties"]:
        yield from judged_otherwise(p, found, min(whole, claimed["complete_depth"]), whole)


def counted_otherwise(report: Claim, found: Exploration) -> Iterator[str]:
    """Yield the counts of a whole exploration that differ."""
    said, events = report["states"], Counter[str]()
    for kind, n in found.event_counts.items():
        events[NUMBERED[kind].called] += n
    for what, there, here in (
        ("states for so many orbits", said["raw"], found.raw),
        ("successors", said["generated"], found.generated),
        ("terminal states", said["terminal"], found.terminal),
        *((f"steps {name}", report["steps"][name], n) for name, n in found.step_counts.items()),
        *((f"events {name!r}", report["events"].get(name, 0), events[name]) for name in {*events, *report["events"]}),
    ):
        if there != here:
            yield f"{there:,} {what}, but there are {here:,}"


def judged_otherwise(p: Claim, found: Exploration, both: int, whole: int) -> Iterator[str]:
    """Yield the differences between the first states and a report in what they show of a property.

    Args:
        both: the last depth of which the report and the exploration have all states.
        whole: the last depth of which the exploration has.
    """
    name = p["name"]
    broken = found.violations[name].depth if name in found.violations else None
    said = p["violation"]["depth"] if p["violation"] else None
    for what, here, there in (("violated", broken, said), ("witnessed", found.witnessed.get(name), p["witnessed_at"])):
        if here is not None and here <= both and there != here:
            yield f"{name} is {what} at depth {here}, but the report says {'nowhere' if there is None else there}"
        if there is not None and there <= whole and there != here:
            yield f"{name} is {what} at depth {there}, and no state up to depth {whole} shows it"
