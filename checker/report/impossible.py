"""Find impossible figures of a report: those that contradict each other, its request or its protocol.

Each generator yields sentences. A report for which none yields anything may still be forged; `--rerun` explores it
again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import factorial, prod
from typing import Any

from checker.explore import narrowing
from checker.explore.result import NOT_ASKED, Exploration, Limits
from checker.explore.stuttering import EVERY_STEP, why_every_receipt
from checker.explore.symmetry import asymmetry
from checker.requests.exploration import ExploreRequest
from checker.requests.restart import not_begun, reduction_off
from invariants import PROPERTIES
from invariants.binding import full_namespace
from invariants.registry import NO_RUNTIME_ERROR, Property
from zabspec.language.frontend import FrontEnd
from zabspec.model import Model
from zabspec.quorums import system_of
from zabspec.roles import roles_of
from zabspec.worlds.steps import NUMBERED

Claim = Mapping[str, Any]
LARGEST = 1 << 62  # more than any exploration counts
BEYOND = 16  # states by which an exploration may pass --max-states
LITERAL = "invariant-5-literal"
# Requests after which nothing is reduced.
ASKED_FOR = ("--reduction none", "--reduction stuttering", "--checkpoint")
ENDINGS = ("interrupted", "out of memory", "--checkpoint")  # what other reasons begin with
TIME = re.compile(r"--time-limit (\S+) s reached(?: before the model was ready)?")
MEMORY = re.compile(r"--memory-limit (?:(\d+) MiB|\d+\.\d GiB \(what this machine has, less a margin\)) reached")


# --- whatever the protocol -------------------------------------------------------------------------


def impossible(report: Claim) -> Iterator[str]:
    """Yield figures that no exploration can have, whatever the protocol."""
    yield from counted(report)
    yield from limited(report)
    yield from covered(report)
    yield from taken(report)
    yield from left_out(report)
    names = [p["name"] for p in report["properties"]]
    if len(set(names)) < len(names):
        yield f"the property {next(n for n in names if names.count(n) > 1)} is listed twice"
    if not set(report["required"]) <= set(names):
        yield "a witness is required of a property that was not checked"
    if report["configuration"]["literal"] != (LITERAL in names):
        yield f"its states have the fields of {LITERAL} and it was not checked, or the reverse"
    if report["configuration"].get("passes", False) != any(p.passes for p in PROPERTIES if p.name in names):
        yield "its states have the passes that processes gave up and no property reads them, or the reverse"


def counted(report: Claim) -> Iterator[str]:
    """Yield what is wrong with the counts of states."""
    states = report["states"]
    levels, distinct, depth, raw = states["levels"], states["distinct"], states["depth"], states["raw"]
    counts = [*levels, *(states[name] for name in ("distinct", "raw", "generated", "terminal"))]
    counts += [*report["steps"].values(), *report["events"].values(), report["cost"]["memory_bytes"]]
    if max(counts, default=0) > LARGEST or (report["engine"]["threads"] or 0) > LARGEST:
        yield "a count is larger than any exploration's"
    if levels and (levels[0] != 1 or 0 in levels):
        yield "its levels do not begin with one state, or one of them is empty"
    if distinct != sum(levels):
        yield f"{distinct:,} distinct states, and levels of {sum(levels):,}"
    if depth != len(levels) - 1:
        yield f"depth {depth}, and levels to depth {len(levels) - 1}"
    if states["terminal"] > distinct:
        yield "more terminal states than states"
    symmetry = report["engine"]["symmetry"]
    if not symmetry and raw != distinct:
        yield f"{distinct:,} distinct states represent {raw:,}, without symmetry"
    if symmetry and not distinct <= raw <= distinct * renamings(report["configuration"]):
        yield f"{distinct:,} orbits cannot represent {raw:,} states"
    if states["generated"] < distinct - 1:
        yield f"{distinct:,} states, and {states['generated']:,} successors"


def renamings(configuration: Mapping[str, Any]) -> int:
    """Return how many renamings of the processes keep the quorums and roles of a configuration."""
    if roles := roles_of(str(configuration.get("roles", ""))):
        return prod(factorial(r.count) for r in roles)
    text = str(configuration.get("quorums", ""))
    return len(system_of(text).renamings) if text else factorial(configuration["nodes"])


def limited(report: Claim) -> Iterator[str]:
    """Yield contradictions to the requested limits, and to the reason why the exploration was cut short."""
    limits, cost, stopped = report["limits"], report["cost"], report["coverage"]["stopped"]
    distinct, depth, levels = (report["states"][name] for name in ("distinct", "depth", "levels"))
    if limits["depth"] is not None and depth > limits["depth"]:
        yield f"depth {depth}, but no more than depth {limits['depth']} was requested"
    most, seconds, memory = limits["max_states"], limits["seconds"], limits["memory_bytes"]
    # on Spark levels are whole
    before = distinct - (levels[-1] if levels and report["engine"]["name"] == "spark" else BEYOND)
    if most is not None and before >= most:
        yield f"{distinct:,} states, and --max-states {most:,} did not end it before"
    if stopped is None:
        if seconds is not None and cost["seconds"] > 2 * seconds + 60:
            yield f"{cost['seconds']:.0f} s, and --time-limit {seconds:g} did not end it"
        if memory is not None and cost["memory_bytes"] > 2 * memory:
            yield f"{cost['memory_bytes']:,} bytes in use, and a memory limit of {memory:,} did not end it"
        return
    if stopped.startswith("--max-states"):
        if stopped != f"--max-states {most} reached" or distinct < most:
            yield f"cut short by {stopped!r}, with {distinct:,} states and a limit of {most or 'none'}"
    elif stopped.startswith("--time-limit"):
        said = TIME.fullmatch(stopped)
        if said is None or seconds is None or said[1] != f"{seconds:g}":
            yield f"cut short by {stopped!r}, and the limit is {seconds or 'none'}"
        elif cost["seconds"] + cost["compile_seconds"] < seconds / 2:
            yield f"cut short by {stopped!r} after {cost['seconds'] + cost['compile_seconds']:.2f} s"
    elif stopped.startswith("--memory-limit"):
        said = MEMORY.fullmatch(stopped)
        if said is None or (said[1] or "") != ("" if memory is None else str(memory >> 20)):
            yield f"cut short by {stopped!r}, and the limit is {memory or 'none'}"
    elif report["engine"]["name"] != "spark" and not stopped.startswith(ENDINGS):
        yield f"nothing ends an exploration with {stopped!r}"


def covered(report: Claim) -> Iterator[str]:
    """Yield contradictions between the figures and the reported coverage and end of the exploration."""
    coverage, depth, whole = report["coverage"], report["states"]["depth"], report["coverage"]["complete_depth"]
    narrowed, asked = report["engine"]["ample_sets"], report["limits"]["depth"]
    broken = {p["name"] for p in report["properties"] if p["violation"]}
    if coverage["exhausted"]:
        if asked is not None and depth >= asked:
            yield f"explored to exhaustion, but the states at the last requested depth ({depth}) are not expanded"
        if coverage["stopped"] or coverage["error"]:
            yield "explored to exhaustion, but cut short"
        if not report["states"]["distinct"]:
            yield "explored to exhaustion, but there is no state"
        if whole != depth and not narrowed:
            yield f"explored to exhaustion, but only all states to depth {whole} of {depth} were explored"
    if coverage["request_covered"] and whole != depth and not narrowed:
        yield f"the whole request was explored, but of depth {depth} only all states to depth {whole}"
    if whole < depth - 1 and not narrowed:
        yield f"states at depth {depth}, but not all those of depth {whole + 1} were found before"
    ended = coverage["stopped"] or coverage["error"] or (broken and not report["limits"]["keep_going"])
    if not coverage["request_covered"] and not ended:
        yield "the request was not fully explored, and the report has no reason"
    if (NO_RUNTIME_ERROR.name in broken) and not coverage["error"]:
        yield f"{NO_RUNTIME_ERROR.name} is violated, but there is no error"
    if coverage.get("error_trace_file") and (not coverage["error"] or NO_RUNTIME_ERROR.name in broken):
        yield "a run needs more room, but no capacity was too small"


def taken(report: Claim) -> Iterator[str]:
    """Yield contradictions to the counts of transitions."""
    engine, generated = report["engine"], report["states"]["generated"]
    called = {row.called for row in NUMBERED.values()}
    if strange := sorted(set(report["events"]) - called):
        yield f"there is no event {strange[0]!r}"
    events, steps = sum(report["events"].values()), max(report["steps"].values(), default=0)
    if not (engine["reduced"] or engine["ample_sets"]):
        if events < generated or (events > generated and not engine.get("stuttering_left_out") and not ended(report)):
            yield f"{events:,} events, but {generated:,} transitions"
        if steps > events:
            yield "a step was taken more often than there are transitions"


def ended(report: Claim) -> bool:
    """Return whether something other than a violation ended the exploration inside a level."""
    return bool(report["coverage"]["stopped"] or report["coverage"]["error"])


def left_out(report: Claim) -> Iterator[str]:
    """Yield contradictions between the figures and the reported reductions."""
    engine, states = report["engine"], report["states"]
    if engine["symmetry"] and engine["symmetry_off"]:
        yield f"it used symmetry, but did not: {engine['symmetry_off']}"
    if not engine["symmetry"] and not engine["symmetry_off"] and states["distinct"] > 1:
        yield "it did not use symmetry, and the report has no reason"
    if engine["ample_sets"] and not engine["reduced"]:
        yield "states were left out, but no transitions"
    if engine.get("ample_sets_off") and not engine["reduced"]:
        yield f"no state had fewer steps than are enabled ({engine['ample_sets_off']}), yet it was not reduced"
    if engine["reduced"] != (engine["reduction_off"] is None):
        yield (
            "it was not reduced, and the report has no reason"
            if not engine["reduced"]
            else ("it was reduced, and was not")
        )
    if (
        engine["reduced"]
        and not engine["ample_sets"]
        and not report["coverage"]["stopped"]
        and states["distinct"] < narrowing.SMALL
    ):
        yield f"reduced, but {states['distinct']:,} states are too few for that"
    if (engine["name"] == "compiled") != bool(engine["threads"]) and states["distinct"] > 1:
        yield f"explored by the engine {engine['name']} with {engine['threads'] or 'no'} threads"


# --- with the protocol at hand ---------------------------------------------------------------------


def unlike(report: Claim, model: Model, judged: Sequence[Property]) -> Iterator[str]:
    """Yield figures that no exploration of this protocol can have.

    Args:
        judged: the properties that the report lists, without the built-in one.
    """
    c = model.configuration
    there = {
        row.called
        for row in NUMBERED.values()
        if model.world.name in row.worlds and (not row.spends or c.budget.get(row.spends))
    }
    if not c.txns:
        there.discard("abcast")
    if strange := [name for name, n in report["events"].items() if n and name not in there]:
        yield f"{report['events'][strange[0]]:,} events {strange[0]!r}, but none are possible within these budgets"
    engine = report["engine"]
    front = model.program.front_end(full_namespace(model))
    if engine["symmetry"] and (why := asymmetry(model, judged, front)):  # first, as it checks all that is typed
        yield f"it used symmetry, but cannot have: {why}"
    yield from unlike_stuttering(report, model, judged, front)
    yield from unlike_reduction(report, model)


def unlike_stuttering(report: Claim, model: Model, judged: Sequence[Property], front: FrontEnd) -> Iterator[str]:
    """Yield what is wrong with the report's mode of stuttering receipts."""
    said = report["engine"].get("stuttering_off")
    follows = why_every_receipt(model, judged, front)
    nothing = report["states"]["distinct"] <= 1 and said == NOT_ASKED
    if not nothing and said not in ((follows,) if follows else (None, EVERY_STEP)):
        yield (
            f"its stuttering receipts are {said or 'left out'!r}, but by the protocol they are "
            + repr(follows or "that they may be left out")
        )


def unlike_reduction(report: Claim, model: Model) -> Iterator[str]:
    """Yield what is wrong with the reason why the exploration was not reduced, or with its having been reduced."""
    said, limits = report["engine"]["reduction_off"], report["limits"]
    if said in ASKED_FOR:
        return
    asked = Limits(limits["depth"], limits["max_states"], limits["seconds"], limits["memory_bytes"])
    request = ExploreRequest(engine=report["engine"]["name"], keep_going=limits["keep_going"])
    why = reduction_off(model, asked, request)
    if said is None and why:
        yield f"it was reduced, but cannot have been: {why}"
    follows = why or not_begun(Exploration((), levels=[*report["states"]["levels"]] or [0]))
    if said is not None and said != follows:
        yield f"it was not reduced, for another reason than the one that follows from the request: {follows}"
