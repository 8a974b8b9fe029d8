"""What the recorded expectations say beside an exploration: what asks completely, and the nearest rule that breaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from checker.ci.shipped import measured, written
from checker.ci.variants import shown
from checker.report.report import Advice, Report, command_words
from checker.report.result import HOLDS, NOT_REACHED
from zabspec.model import Configuration
from zabspec.protocols.registry import NAMES

if TYPE_CHECKING:
    from checker.ci.configuration import Check
    from checker.ci.variants import Shown

__all__ = ["advised"]

SIZE = {f.name for f in fields(Configuration)} - {"protocol", "variant"}


def advised(report: Report) -> Report:
    """Return the report of one of this project's protocols with what its recorded expectations say; of any other, and
    of a variant, the report as it is."""
    c = report.configuration
    if c.protocol not in NAMES or c.variant or c.quorums or c.start:
        return report
    return replace(report, advice=Advice(*completely(report), one_rule_away(report)))


def completely(report: Report) -> tuple[str, float, bool]:
    """Return the command that reaches every premise in all its states, the CPU seconds that it took when it was last
    measured, and whether all its runs are ones of what was explored: with as many processes if there is one, and of
    those the fastest."""
    c = report.configuration
    lacking = [p for p in report.listed if report.verdict(p) == NOT_REACHED]
    if not lacking or not all(p.default for p in lacking):
        return "", 0.0, False
    known = [
        (check.values.get("nodes") != c.nodes, measured()[check.name], check)
        for mine in written().values()
        for check in mine
        if is_complete(check, c) and measured().get(check.name)
    ]
    if not known:
        return "", 0.0, False
    _, seconds, check = min(known, key=lambda one: one[:2])
    return command_of(check.values), seconds, fits(size_of(check.values), c)


def is_complete(check: Check, c: Configuration) -> bool:
    """Whether an entry explores a protocol itself to exhaustion, over a network, and expects every premise to be met
    and nothing to break."""
    return holds_whole(check, c) and check.expect.premises is None


def holds_whole(check: Check, c: Configuration) -> bool:
    """Whether an entry explores a protocol itself to exhaustion, over a network, and expects nothing to break."""
    values, expect = check.values, check.expect
    if check.simulated or check.live or set(values) - SIZE - {"protocol", "keep_going"}:
        return False
    if values["protocol"] != c.protocol or values.get("quorums") or values.get("start") or expect.violated:
        return False
    network = Configuration(c.protocol, network=values.get("network", "")).network if values.get("network") else ""
    network = network or Configuration(c.protocol).network
    return network == c.network and expect.verdict == "holds" and bool(expect.exhausted)


def one_rule_away(report: Report) -> str:
    """Return what breaks nearest if one rule of the protocol is changed, within the bounds that were explored; empty:
    nothing is recorded, or not everything that was judged holds."""
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
    """Whether a variant is expected to break a property in no more than a configuration has."""
    return not s.beside and bool(s.breaks) and fits(s.base, c)


def holds_unchanged(s: Shown) -> bool:
    """Whether the protocol itself is recorded to hold where a variant is shown. If it is not, what breaks there need
    not come of the rule that the variant changes: one repair of several leaves the other faults."""
    entries = (check for mine in written().values() for check in mine)
    return any(holds_whole(check, s.base) and fits(s.base, size_of(check.values)) for check in entries)


def size_of(values: Mapping[str, Any]) -> Configuration:
    """Return what an entry explores."""
    return Configuration(**{name: values[name] for name in (*SIZE, "protocol") if name in values})


def fits(small: Configuration, large: Configuration) -> bool:
    """Whether one configuration of a protocol has no more than another, each of its runs being one of the other's."""
    for name in ("protocol", "network", "nodes", "quorums", "start"):
        if getattr(small, name) != getattr(large, name):
            return False
    if any(getattr(large, name) not in (0, getattr(small, name)) for name in ("max_epoch", "channel")):
        return False
    return small.txns <= large.txns and all(n <= large.budget.get(name, 0) for name, n in small.budget.items())


def command_of(values: Mapping[str, Any]) -> str:
    """Return the command that asks what an entry does."""
    order = ["protocol", "variant", *(f.name for f in fields(Configuration) if f.name in SIZE)]
    said = {name: values[name] for name in order if name in values and (name, values[name]) != ("protocol", "zab")}
    return " ".join(["zabcheck", *(command_words(said) or [])])
