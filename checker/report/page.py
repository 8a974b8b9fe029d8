"""A report as a page to attach to a pull request: verdicts, coverage, states per level, and each counterexample drawn.

It is made from the report's JSON, of this run or of a file, whose figures are shown as it states them. Each
counterexample in it is replayed, and drawn from that run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from checker.errors import RequestError
from checker.opinion.outcome import SecondOpinion
from checker.report.command import witness_command
from checker.report.documents import ExplorationReport
from invariants import known_properties, property_named
from invariants.registry import RUNTIME
from traces import Trace, TraceError, build_trace, verify
from traces.explain.why import reason
from traces.pages.shell import environment
from traces.pictures.html import shown
from traces.pictures.svg import STYLE
from traces.record.reading import strict_json
from zabspec.files import read_bytes
from zabspec.model import Configuration, Model
from zabspec.starts import Schedule
from zabspec.typed import WrongValue, read

MOST_BYTES = 200_000_000


class ReportError(RequestError):
    """There is no report, or a run in it does not show what it says; the message is one sentence."""


def read_report(path: Path) -> dict[str, Any]:
    """Read the report in a file, without the evidence beside the exploration, which is recorded of other sources.

    Raises:
        ReportError: there is none.
    """
    try:
        report = strict_json(read_bytes(path, MOST_BYTES))
        read(report, ExplorationReport)
    except OSError as problem:
        raise ReportError(f"{path}: {problem.strerror}") from None
    except WrongValue as problem:
        request = report.get("request") if isinstance(report, dict) else None
        kind = request.get("kind", "explore") if isinstance(request, dict) else "explore"
        why = problem.at("/".join(map(str, problem.path)))
        why = why if kind == "explore" else f"it answers a request of kind {str(kind)[:40]!r}"
        raise ReportError(f"{path} is not a report of an exploration: {why}") from None
    except ValueError as problem:
        raise ReportError(f"{path} is not JSON: {problem}") from None
    for said in (report, *report["properties"]):
        said.pop("evidence", None)
    return {**report, "to_reach": []}


def page_of(report: Mapping[str, Any], stated: bool = False) -> str:
    """Return the page.

    Args:
        stated: whether the figures are those of a file, which were not measured again; the page says so.

    Raises:
        ReportError: a counterexample in it does not replay.
    """
    broken = [p for p in report["properties"] if p["verdict"] == "violated"]
    runs = runs_of(report, broken)
    found = {p["name"]: f"{run['name']}run" for run in runs for p in (run["broken"], *run["also"])}
    ordered = sorted(report["properties"], key=lambda p: (p["name"] not in found, p["verdict"] != "holds"))
    held = [p["name"] for p in report["properties"] if p["verdict"] == "holds" and p["of"] != RUNTIME]
    commands = {name: said for name in held if (said := witness_command(report.get("request"), name))}
    steps, levels = list(report["steps"].items()), report["states"]["levels"]
    most = max([*report["steps"].values(), *report["events"].values()], default=0)
    template = environment("traces.pictures", "checker.report").get_template("report.html.j2")
    return template.render(
        style=STYLE, report=report, stated=stated, runs=runs, found=found, ordered=ordered, witnesses=commands,
        levels=[(n, share(n, max(levels))) for n in levels],
        second=SecondOpinion.from_json(report["second_opinion"]).row if "second_opinion" in report else [],
        counts=[(name, n, share(n, most)) for name, n in [*steps, *report["events"].items()]],
        configuration=json.dumps(report["configuration"]),
    )  # fmt: skip


def runs_of(report: Mapping[str, Any], broken: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what the template needs for each counterexample, one run once with all that it violates.

    Raises:
        ReportError: one does not replay.
    """
    runs: dict[str, dict[str, Any]] = {}
    for p in broken:
        trace, steps = trace_of(report, p), json.dumps([p["violation"]["schedule"], p["violation"].get("start")])
        if steps not in runs:
            runs[steps] = shown(trace, f"run{len(runs) + 1}-") | {"broken": p, "also": []}
        else:
            why = reason(trace)
            runs[steps]["also"].append({**p, "why": why.sentence if why is not None else ""})
    return list(runs.values())


def trace_of(report: Mapping[str, Any], broken: Mapping[str, Any]) -> Trace:
    """Return the counterexample to a property, replayed.

    Raises:
        ReportError: it does not replay.
    """
    name = broken["name"]
    if broken["violation"] is None:
        raise ReportError(f"the report says that {name} is violated, and has no steps that show it")
    try:
        model = Model(Configuration(**report["configuration"]))
        prop = property_named(name, known_properties(model.configuration.protocol))
        steps = Schedule.of(broken["violation"]["schedule"], broken["violation"].get("start"))
        trace = build_trace(model, prop, steps)
        verify(trace)
    except RequestError as problem:
        raise ReportError(f"the counterexample to {name} cannot be rerun: {problem}") from None
    except (TraceError, KeyError) as problem:
        raise ReportError(f"the report says that {name} is violated, but its steps do not show it: {problem}") from None
    return trace


def share(count: int, most: int) -> float:
    """Return the length of a bar, in percent, on a logarithmic scale."""
    return 100 * math.log1p(count) / math.log1p(most) if count else 0.0
