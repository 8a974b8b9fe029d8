"""Tell a row of the track record as a story: what happens, to whom, in which releases, and its fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.report.result import plural
from checker.zookeeper.record import PROTOCOL
from checker.zookeeper.rows import CLIENTS, Row
from invariants import properties_of, property_named
from traces.pictures.words import words_of
from zabspec.protocols.registry import PROTOCOLS
from zabspec.zookeeper.of_releases import settled

if TYPE_CHECKING:
    from checker.zookeeper.record import RowOutcome
    from traces import Trace

TRACKER = "https://issues.apache.org/jira/browse/ZOOKEEPER-"


def story(one: RowOutcome) -> list[tuple[str, str]]:
    """Return the facts about a row that precede its run, each with its name."""
    row, protocol = one.row, PROTOCOLS[PROTOCOL]
    prop = property_named(row.breaks, properties_of(PROTOCOL))
    numbers = protocol.declared.releases.get(row.release) or next(
        (all_of for all_of in protocol.declared.releases.values() if row.release in all_of), (row.release,)
    )
    alike = settled("", row.number or row.release, row.settings)
    numbers = tuple(n for n in numbers if settled("", n, row.settings) == alike)
    known = protocol.variants
    out = [
        (
            "bug",
            f"ZOOKEEPER-{row.issue}" if row.issue.isdigit() else f"{row.issue}, found by zabcheck, in no issue tracker",
        )
    ]
    if row.issue.isdigit():
        out.append(("ticket", TRACKER + row.issue))
    out = [("what a client loses", CLIENTS.get(row.breaks, prop.statement)), ("what happens", row.says), *out]
    out += [
        ("violated property", f"{row.breaks}: {prop.statement}"),
        ("violated rule", row.split),
        ("release", asked(row) + (f" (as {', '.join(numbers)})" if len(numbers) > 1 else "")),
        ("other fixes in it", ", ".join(row.others)),
        ("its fix", "; ".join(f"{name}: {known[name].summary}" for name in row.fix)),
        ("without its fix" if one.recorded else "as it is", said(one, False)),
        ("with its fix", said(one, True)),
    ]
    return out


def headline(one: RowOutcome) -> str:
    """Return the answer in a sentence: whether the release has the bug, and what its fix changes."""
    row, known = one.row, PROTOCOLS[PROTOCOL].variants
    start = (
        f"ZK-{row.issue} in {asked(row)}{' and' if settings(row) else ' with'} {plural(len(row.others), 'other fix')}"
    )
    if one.without.trouble:
        return f"{start}: no verdict: {one.without.trouble}"
    if not one.without.depth:
        return f"{start}: no violation found: {row.breaks} {said(one, False)}"
    fix = "; ".join(f"{name}: {known[name].summary}" for name in row.fix)
    return f"{start}: {row.breaks} {said(one, False)}; with its own fix ({fix}) it {said(one, True)}"


def settings(row: Row) -> list[str]:
    """Return the settings of a row that the explored release has."""
    has = settled("", row.number or row.release, row.settings).split(",")
    return [name for name in row.settings.split(",") if name and name in has]


def asked(row: Row) -> str:
    """Return the explored release, with its settings, without which the row does not exist."""
    return (row.number or row.release) + (f" with {', '.join(settings(row))}" if settings(row) else "")


def said(one: RowOutcome, fixed: bool) -> str:
    """Return the result of an exploration of a row."""
    o = one.repaired if fixed else one.without
    if o.trouble:
        return f"no verdict: {o.trouble}"
    states = plural(o.states, "state").replace(str(o.states), f"{o.states:,}", 1)
    merged = "" if one.split else " (with steps merged by promise)"
    found = (
        f"is violated after {plural(o.depth, 'step')}, {states}"
        if o.depth
        else (f"holds in all {states} of its budget")
    )
    return found + merged


def methods(trace: Trace) -> list[tuple[str, str, str]]:
    """Return for each step of a run its number, its process, and the description in the protocol's source.

    The description begins with the Java method if it names one.
    """
    from traces.explain.names import headline

    rows, model = [], trace.model
    for step in trace.steps:
        words = " ".join(text if text.endswith(".") else f"{text}." for _, text in words_of(model, step))
        rows.append((str(step.number), headline(step), words))
    return rows
