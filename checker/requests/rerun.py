"""Explore the request of a report again, and compare the outcome with the one that the report claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from checker.errors import RequestError
from checker.requests.explore import Explore
from checker.requests.model import ModelRequest
from checker.requests.watch import QUIET, Watch
from invariants.registry import NO_RUNTIME_ERROR
from zabspec.model import Configuration

# The figures of an exploration that do not depend on the machine and its limits; and its reductions.
FIGURES = ("distinct", "raw", "generated", "terminal", "depth", "levels")
MODE = ("symmetry", "reduced", "ample_sets", "stuttering_left_out")


REDUCED = ("--reduction none", "--reduction stuttering")


def differences(report: Mapping[str, Any], watch: Watch | None = None) -> list[str]:
    """Explore the request of a report again, and list the differences; empty if the outcome is the same.

    A report of Spark's reduced search is compared with a reduced search on this machine: both visit the same states,
    but this machine takes fewer transitions, and does not first visit all states of as many levels.

    Raises:
        RequestError, ConfigError, LanguageError: the request cannot be answered here.
        NoVerdict: it has no outcome.
    """
    found = request_of(report).answer(watch or QUIET).as_json()
    fewer = report["engine"]["name"] == "spark" and report["engine"]["reduced"]
    names = ("verdict",) if report.get("error") else ("verdict", "exit_code")
    said = [(name, report[name], found[name]) for name in names]
    covered = ("exhausted",) if fewer else ("exhausted", "complete_depth")
    said += [(name, report["coverage"][name], found["coverage"][name]) for name in covered]
    there = {p["name"]: p for p in found["properties"]}
    for p in report["properties"]:
        now = there.get(p["name"], {"verdict": "not judged", "violation": None, "witnessed_at": None})
        said.append((p["name"], p["verdict"], now["verdict"]) if fewer else (p["name"], outcome(p), outcome(now)))
    said += [(name, report["engine"].get(name), found["engine"][name]) for name in MODE]
    figures = (name for name in FIGURES if not (fewer and name == "generated"))
    said += [(name, report["states"][name], found["states"][name]) for name in figures]
    if not fewer:
        said += [(name, report[name], found[name]) for name in ("steps", "events")]
    return [f"{name} {short(now)}, but the report says {short(before)}" for name, before, now in said if before != now]


def outcome(p: Mapping[str, Any]) -> str:
    """Return a property's verdict and its depth."""
    depth = p["violation"]["depth"] if p["violation"] else p["witnessed_at"]
    return p["verdict"] if depth is None else f"{p['verdict']} at depth {depth}"


def request_of(report: Mapping[str, Any]) -> Explore:
    """Return the request that a report answers.

    Raises:
        RequestError: there can be no such request.
    """
    limits, engine = report["limits"], report["engine"]
    names = tuple(p["name"] for p in report["properties"] if p["name"] != NO_RUNTIME_ERROR.name)
    check_carried(report)
    return Explore(
        **vars(ModelRequest.of(Configuration(**report["configuration"]))),
        depth=limits["depth"],
        properties=names or (NO_RUNTIME_ERROR.name,),
        require_witness=tuple(report["required"]),
        keep_going=limits["keep_going"],
        symmetry=engine["symmetry_off"] != "--no-symmetry",
        reduction=cast("Any", reduction_of(engine)),
        engine="interpret" if engine["name"] == "interpret" else "compiled",
        max_states=limits["max_states"],
        time_limit=limits["seconds"],
        memory_limit=limits["memory_bytes"],
    )


def check_carried(report: Mapping[str, Any]) -> None:
    """Check that the request of a report, if it has one, has the report's configuration and properties.

    Raises:
        RequestError: it is not a request, or is about something else.
    """
    if report.get("request") is None:
        return
    judged, configuration = Explore.from_json(report["request"]).checks()
    listed = {p["name"] for p in report["properties"]} - {NO_RUNTIME_ERROR.name}
    if configuration.as_dict() != report["configuration"]:
        raise RequestError("its request is for another configuration")
    if {p.name for p in judged} != listed:
        raise RequestError("its request is for other properties")


def reduction_of(engine: Mapping[str, Any]) -> str:
    """Return the reduction that a report's exploration was requested with."""
    if engine["reduction_off"] in REDUCED:
        return str(engine["reduction_off"]).removeprefix("--reduction ")
    if engine["name"] == "spark" and not engine["reduced"]:  # as in the search that measured its figures
        return "stuttering" if engine["stuttering_left_out"] else "none"
    return "auto"


def short(value: Any) -> str:
    """Return a value, shortened for a sentence."""
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
