"""Advice of the gallery beside an exploration: a command that reaches every premise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from checker.ci.shipped import measured, written
from checker.report.report import Advice, Explored, command_words, faults_left_out
from checker.report.result import NOT_REACHED
from zabspec.model import Configuration
from zabspec.protocols.registry import NAMES

if TYPE_CHECKING:
    from checker.ci.configuration import Check

SIZE = {f.name for f in fields(Configuration)} - {"protocol", "variant"}


def advised(report: Explored) -> Explored:
    """Return a report with the gallery's advice if it is of one of this project's protocols, else the report unchanged.

    Reports of variants, of other quorums and of other initial states get no advice.
    """
    c = report.configuration
    if c.protocol not in NAMES or c.variant or c.quorums or c.start:
        return report
    return replace(report, advice=completely(report))


def completely(report: Explored) -> Advice:
    """Return the fastest recorded command that reaches every premise and is exhaustive, if not all are reached.

    A command with as many processes as the report's configuration is preferred.
    """
    c = report.configuration
    lacking = [p for p in report.listed if report.verdict(p) == NOT_REACHED]
    if not lacking or not all(p.default for p in lacking):
        return Advice()
    known = [
        (check.values.get("nodes") != c.nodes, measured()[check.name], check)
        for mine in written().values()
        for check in mine
        if is_complete(check, c) and measured().get(check.name)
    ]
    if not known:
        return Advice()
    _, seconds, check = min(known, key=lambda one: one[:2])
    size = size_of(check.values)
    return Advice(command_of(check.values), seconds, fits(size, c), faults_left_out(c, size.budget))


def is_complete(check: Check, c: Configuration) -> bool:
    """Return whether an entry explores an unchanged protocol exhaustively, with every premise and no violation."""
    values, expect = check.values, check.expect
    if not check.explores or set(values) - SIZE - {"protocol", "keep_going"}:
        return False
    if values["protocol"] != c.protocol or values.get("quorums") or values.get("start") or expect.violated:
        return False
    network = Configuration(c.protocol, network=values.get("network", "")).network if values.get("network") else ""
    network = network or Configuration(c.protocol).network
    whole = expect.verdict == "holds" and bool(expect.exhausted) and expect.required is None
    return network == c.network and whole


def size_of(values: Mapping[str, Any]) -> Configuration:
    """Return the configuration that a gallery entry explores."""
    return Configuration(**{name: values[name] for name in (*SIZE, "protocol") if name in values})


def fits(small: Configuration, large: Configuration) -> bool:
    """Return whether every run of one configuration of a protocol is a run of another, whose bounds are no smaller."""
    for name in ("protocol", "network", "nodes", "quorums", "start"):
        if getattr(small, name) != getattr(large, name):
            return False
    if any(getattr(large, name) not in (0, getattr(small, name)) for name in ("max_epoch", "channel")):
        return False
    return small.txns <= large.txns and all(n <= large.budget.get(name, 0) for name, n in small.budget.items())


def command_of(values: Mapping[str, Any]) -> str:
    """Return the command line that explores what a gallery entry does."""
    order = ["protocol", "variant", *(f.name for f in fields(Configuration) if f.name in SIZE)]
    said = {name: values[name] for name in order if name in values and (name, values[name]) != ("protocol", "zab")}
    return " ".join(["zabcheck", *(command_words(said) or [])])
