"""Advice of the gallery beside an exploration: a command that reaches every premise, and the nearest violation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from checker.ci.shipped import measured, written
from checker.ci.variants import shown
from checker.report.report import Advice, Explored, command_words, faults_left_out
from checker.report.result import HOLDS, NOT_REACHED
from zabspec.model import Configuration
from zabspec.protocols.registry import NAMES

if TYPE_CHECKING:
    from checker.ci.configuration import Check
    from checker.ci.variants import Shown

SIZE = {f.name for f in fields(Configuration)} - {"protocol", "variant"}


def advised(report: Explored) -> Explored:
    """Return a report with the gallery's advice if it is of one of this project's protocols, else the report unchanged.

    Reports of variants, of other quorums and of other initial states get no advice.
    """
    c = report.configuration
    if c.protocol not in NAMES or c.variant or c.quorums or c.start:
        return report
    return replace(report, advice=replace(completely(report), nearest=one_rule_away(report)))


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
    """Return whether an entry explores an unchanged protocol exhaustively and expects all premises to be met."""
    return holds_whole(check, c) and check.expect.required is None


def holds_whole(check: Check, c: Configuration) -> bool:
    """Return whether a gallery entry explores an unchanged protocol over a network exhaustively, without violation."""
    values, expect = check.values, check.expect
    if not check.explores or set(values) - SIZE - {"protocol", "keep_going"}:
        return False
    if values["protocol"] != c.protocol or values.get("quorums") or values.get("start") or expect.violated:
        return False
    network = Configuration(c.protocol, network=values.get("network", "")).network if values.get("network") else ""
    network = network or Configuration(c.protocol).network
    return network == c.network and expect.verdict == "holds" and bool(expect.exhausted)


def one_rule_away(report: Explored) -> str:
    """Return a sentence on the variant that violates a property in the fewest steps, within the bounds of a report.

    The sentence is empty if no such variant is recorded, or not everything that was judged holds.
    """
    c = report.configuration
    if report.overall not in (HOLDS, NOT_REACHED):
        return ""
    near = [s for s in shown(c.protocol).values() if within(s, c) and holds_unchanged(s)]
    if not near:
        return ""
    s = min(near, key=lambda one: (one.depth, one.variant))
    broken = next(iter(s.breaks))
    command = command_of(dict(s.within) | {"protocol": c.protocol, "variant": s.variant})
    return f"one rule away: {s.variant} violates {broken} in {s.depth} steps: {command}"


def within(s: Shown, c: Configuration) -> bool:
    """Return whether a variant is expected to violate a property within the bounds of a configuration."""
    return not s.beside and bool(s.breaks) and fits(s.base, c)


def holds_unchanged(s: Shown) -> bool:
    """Return whether the protocol itself is recorded to hold within the bounds in which a variant is shown.

    If it is not, a violation of the variant need not come from the rule that it changes: one repair of several leaves
    the other faults.
    """
    entries = (check for mine in written().values() for check in mine)
    return any(holds_whole(check, s.base) and fits(s.base, size_of(check.values)) for check in entries)


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
