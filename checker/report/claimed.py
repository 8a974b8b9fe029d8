"""Derive a report that a file claims again from its measurements.

What an exploration measured (levels, counts, depths, why it ended) is taken as the file states it; only `--rerun`
confirms it. All else (verdicts, the sentence, the exit code, coverage, statements, ratios) is derived from it by the
code that writes reports, and must be equal to what the file says. A file must also be of its type, `ExplorationReport`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from checker.errors import RequestError
from checker.explore.result import Exploration, Limits, Violation
from checker.opinion.outcome import NO_OPINION, SecondOpinion
from checker.report.documents import ExplorationReport
from checker.report.page import ReportError
from checker.report.report import Explored
from checker.report.result import NO_VERDICT, VIOLATED, Counterexample
from checker.report.z3_answer import Z3Answer
from invariants import known_properties, property_named
from invariants.binding import vacuous
from invariants.registry import NO_RUNTIME_ERROR, Property
from traces.record.reading import strict_json
from traces.record.verification import first_apart
from zabspec.files import read_bytes
from zabspec.model import Configuration, Model
from zabspec.starts import Schedule
from zabspec.typed import WrongValue, read
from zabspec.worlds.steps import NUMBERED

Claim = Mapping[str, Any]
MOST_BYTES = 200_000_000
NOT_DERIVED = ("zabcheck", "to_reach")  # by which version the report was written; what was recorded then of others


def read_report(path: Path) -> dict[str, Any]:
    """Read the report in a file.

    Raises:
        ReportError: there is none, or it contradicts itself.
    """
    try:
        report = strict_json(read_bytes(path, MOST_BYTES))
        read(report, ExplorationReport)
    except OSError as problem:
        raise ReportError(f"{path}: {problem.strerror}") from None
    except WrongValue as problem:
        where = "/".join(map(str, problem.path))
        raise ReportError(f"{path} is not a report of an exploration: {problem.at(where)}") from None
    except ValueError as problem:
        raise ReportError(f"{path} is not JSON: {problem}") from None
    assert isinstance(report, dict)
    without_evidence(report)
    check(report, str(path))
    return report


def without_evidence(report: dict[str, Any]) -> None:
    """Remove the evidence beside the exploration: it does not follow from the figures, and is of other sources.

    So is what was recorded of other explorations, which reach the premises.
    """
    report["to_reach"] = []
    for said in (report, *report["properties"]):
        said.pop("evidence", None)


def check(report: Mapping[str, Any], name: str) -> None:
    """Check that a report agrees with itself.

    Raises:
        ReportError: what it says does not follow from what it measured.
    """
    wrong = contradiction(report)
    if wrong:
        raise ReportError(f"{name} contradicts itself: {wrong}")


def contradiction(report: Claim) -> str:
    """Return what does not follow from the figures of a report that conforms to its schema; empty if all of it does.

    The protocol is looked up, and its properties; a missing one is reported.
    """
    try:
        model = Model(Configuration(**report["configuration"]))
        known = (*known_properties(model.configuration.protocol), NO_RUNTIME_ERROR)
        steps = list(model.program.steps)
    except (RequestError, KeyError, OSError) as problem:
        return f"its configuration cannot be explored: {problem}"
    there = {p.name: p for p in known}
    for p in report["properties"]:
        if p["name"] not in there:
            return f"{model.configuration.protocol} has no property {p['name']!r}"
    if set(report["steps"]) != set(steps) and report["states"]["distinct"]:
        return "its steps are not those of the protocol"
    if strange := sorted(set(report["events"]) - {row.called for row in NUMBERED.values()}):
        return f"there is no event {strange[0]!r}"
    listed = [property_named(p["name"], known) for p in report["properties"]]
    return difference(derived(report, model, listed), report)


def derived(report: Claim, model: Model, listed: list[Property]) -> Explored:
    """Return the report of an exploration with the measurements of a report."""
    engine, coverage, limits = report["engine"], report["coverage"], report["limits"]
    said = {p["name"]: p for p in report["properties"]}
    judged = tuple(p for p in listed if p.name != NO_RUNTIME_ERROR.name)
    found = Exploration(judged, engine["symmetry"], engine["name"])
    found.levels, found.raw_levels = [*report["states"]["levels"]], [report["states"]["raw"]]
    found.generated, found.terminal = report["states"]["generated"], report["states"]["terminal"]
    found.step_counts = dict(report["steps"])
    found.event_counts = {
        next(k for k, row in NUMBERED.items() if row.called == name): n for name, n in report["events"].items()
    }
    found.witnessed = {name: p["witnessed_at"] for name, p in said.items() if p["witnessed_at"] is not None}
    broken = {p: said[p.name]["violation"] for p in listed if said[p.name]["violation"]}
    found.violations = {p.name: Violation(p, Schedule.of(v["schedule"], v.get("start"))) for p, v in broken.items()}
    found.complete, found.expanded_levels = coverage["exhausted"], coverage["complete_depth"]
    found.stopped, found.error = coverage["stopped"] or "", coverage["error"] or ""
    cost = report["cost"]
    found.seconds, found.cpu_seconds, found.compile_seconds = (
        cost[name] for name in ("seconds", "cpu_seconds", "compile_seconds")
    )
    found.memory = cost["memory_bytes"]
    found.reduced, found.narrowed = engine["reduced"], engine["ample_sets"]
    found.stuttering_off = engine["stuttering_off"] or ""
    found.merged, found.ample_off = engine.get("merged") or "", engine.get("ample_sets_off") or ""
    found.suspected, found.suspects_one = suspected(report)
    asked_to = limits["depth"] is not None and found.depth >= limits["depth"]
    if coverage["request_covered"] and not found.complete and not asked_to and broken and not limits["keep_going"]:
        found.levels.append(0)  # a violation ended it with the last level there is
    if found.collision_probability != report["states"]["collision_probability"]:
        found.fingerprint_bits = 128
    path = coverage.get("error_trace_file")
    return Explored(
        found, model.configuration,
        Limits(limits["depth"], limits["max_states"], limits["seconds"], limits["memory_bytes"]),
        model.epochs, model.channels, limits["keep_going"], engine["threads"] or 0, engine["symmetry_off"] or "",
        {p.name: counterexample(said[p.name]) for p in broken},
        {name: symbolic(report, p["symbolic"]) for name, p in said.items() if "symbolic" in p},
        tuple(report["required"]), engine["reduction_off"] or "", Counterexample(path=path) if path else None,
        vacuous(model, judged), report.get("request"), second=second_opinion(report),
    )  # fmt: skip


def second_opinion(report: Claim) -> SecondOpinion:
    """Return the second opinion that a report has."""
    return SecondOpinion.from_json(report["second_opinion"]) if "second_opinion" in report else NO_OPINION


def counterexample(p: Claim) -> Counterexample:
    """Return the counterexample of a violation: a violated property's run is repeated.

    Otherwise its problem is the reason.
    """
    v = p["violation"]
    stands = v["replayed"] or not v["problem"] or p["verdict"] == VIOLATED
    text, why, path, trouble = (v[name] or "" for name in ("text", "why", "trace_file", "problem"))
    return Counterexample(text, why, path, trouble, stands, v["sha256"] or "")


def symbolic(report: Claim, said: Claim) -> Z3Answer:
    """Return z3's answer about a property. Only the exit code shows that Ctrl-C ended it."""
    ended = report["exit_code"] == 3 and not report.get("error")
    trouble = said["problem"] or ""
    interrupted = ended and not trouble and said["verdict"] == "undecided" and report["verdict"] != NO_VERDICT
    steps, epochs, broken = (int(said[name] or 0) for name in ("steps", "epochs", "violated_within"))
    within = tuple(said["within"])
    return Z3Answer(said["verdict"], steps, epochs, within, broken, interrupted, trouble, said["premise_reached"])


def suspected(report: Claim) -> tuple[tuple[str, ...], bool]:
    """Return the properties that a search which leaves out states found violated, as the sentence names them.

    Return also whether it says that only at least one of them is.
    """
    before, found, _ = report["sentence"].partition(" violated, with no path to it yet")
    said = before.rpartition("; ")[2]
    one = said.startswith("at least one of ")
    names = said.removeprefix("at least one of ").split(", ") if found and report["verdict"] == NO_VERDICT else []
    known = {p["name"] for p in report["properties"]}
    return (tuple(names), one) if set(names) <= known else ((), False)


def difference(true: Explored, report: Claim) -> str:
    """Return where a report differs from what follows from its own figures; empty if nowhere."""
    for name, value in true.as_json().items():
        unwritten = name == "exit_code" and report.get("error") and report["exit_code"] == 3
        found = first_apart(report.get(name), value)
        if found is not None and name not in NOT_DERIVED and not unwritten:
            return f"its {name}{found[0]} is {shown(found[1])}, but its own figures give {shown(found[2])}"
    return ""


def shown(value: Any) -> str:
    """Return a value, shortened for a sentence."""
    text = " ".join(str("nothing" if value is None else value).split())
    return text if len(text) <= 160 else f"{text[:157]}..."
