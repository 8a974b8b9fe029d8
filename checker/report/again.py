"""The request of a report, explored again: whether the outcome is the one that the report claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checker.api import explore
from invariants.registry import NO_RUNTIME_ERROR
from zabspec.protocols.registry import PROTOCOLS

__all__ = ["differences"]

# What an exploration comes to, whatever the machine and its limits; and what was left out of it.
FIGURES = ("distinct", "raw", "generated", "terminal", "depth", "levels")
MODE = ("symmetry", "reduced", "narrowed", "stuttering_left_out")


def differences(report: Mapping[str, Any]) -> list[str]:
    """Explore what a report asked, and name what comes out otherwise; nothing: the outcome is the same.

    Raises:
        QuestionError: the request cannot be asked here.
        NoVerdict: it has no outcome.
    """
    found = explore(report["configuration"]["protocol"], **request(report)).as_json()
    said = [(name, report[name], found[name]) for name in ("verdict", "exit_code")]
    said += [(name, report["coverage"][name], found["coverage"][name]) for name in ("exhausted", "whole_depth")]
    there = {p["name"]: p for p in found["properties"]}
    for p in report["properties"]:
        said.append((p["name"], outcome(p), outcome(there[p["name"]]) if p["name"] in there else "not judged"))
    said += [(name, report["engine"].get(name), found["engine"][name]) for name in MODE]
    said += [(name, report["states"][name], found["states"][name]) for name in FIGURES]
    return [f"{name} {short(now)}, and the report says {short(before)}" for name, before, now in said if before != now]


def outcome(p: Mapping[str, Any]) -> str:
    """A property's verdict and its depth."""
    depth = p["violation"]["depth"] if p["violation"] else p["witnessed_at"]
    return p["verdict"] if depth is None else f"{p['verdict']} at depth {depth}"


def request(report: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the command that asks what a report asked."""
    c, limits, engine = report["configuration"], report["limits"], report["engine"]
    protocol = PROTOCOLS[c["protocol"]]
    out: dict[str, Any] = {name: c[name] for name in ("variant", "network", "start", "max_epoch", "channel") if c[name]}
    out["nodes"] = c["nodes"]
    if protocol.transactions:
        out["txns"] = c["txns"]
    own = dict(each.split("=") for each in c["budgets"].split(",") if each)
    out["budgets"] = {name: c[name] for name in protocol.world.budgets} | {name: int(n) for name, n in own.items()}
    out |= {name: limits[name] for name in ("depth", "max_states") if limits[name] is not None}
    if limits["seconds"] is not None:
        out["time_limit"] = limits["seconds"]
    if limits["memory_bytes"] is not None:
        out["memory_limit"] = str(limits["memory_bytes"])
    out["keep_going"], out["symmetry"] = limits["keep_going"], engine["symmetry_off"] != "--no-symmetry"
    names = [p["name"] for p in report["properties"] if p["name"] != NO_RUNTIME_ERROR.name]
    out["properties"] = names or [NO_RUNTIME_ERROR.name]
    if report["required"]:
        out["require_witness"] = report["required"]
    if engine["reduction_off"] in ("--reduction none", "--reduction stuttering"):
        out["reduction"] = engine["reduction_off"].removeprefix("--reduction ")
    elif engine["name"] == "spark":  # which reduces nothing; this machine would
        out["reduction"] = "stuttering" if engine["stuttering_left_out"] else "none"
    if engine["name"] == "interpret":
        out["engine"] = "interpret"
    return out


def short(value: Any) -> str:
    """A value in a sentence."""
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
