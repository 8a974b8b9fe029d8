"""The report of `zabcheck conform` on servers' own logs, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from checker.report.result import EXIT_CODES, HOLDS, NO_VERDICT, VIOLATED
from checker.zookeeper.report.conformed import Conformed

if TYPE_CHECKING:
    from traces.zookeeper.conform.from_lines import FromLines


def logs_conformed_result(request: Mapping[str, Any], done: FromLines) -> Conformed:
    """Return the result of a search in servers' logs.

    Args:
        request: the request that it answers, as JSON.
        done: the outcome of the search.
    """
    explained = done.verdict == "EXPLAINED"
    wrong = done.verdict == "NOT EXPLAINED" or bool(done.broken)
    code = EXIT_CODES[VIOLATED if wrong else HOLDS if explained else NO_VERDICT]
    lines = told(done)
    at = None if done.at is None else {"place": done.at.place, "line": done.at.told()}
    broken = {name: "" if line is None else line.place for name, line in done.broken.items()}
    content = {"request": dict(request), "exit_code": code, **asdict(done), "at": at, "broken": broken}
    return Conformed(lines[0], code, content, lines, outcome=done)


def told(done: FromLines) -> list[str]:
    """Return the lines for a terminal."""
    at = "" if done.at is None else f" at {done.at.place}, {done.at.told()}"
    if done.verdict == "EXPLAINED":
        out = [
            f"EXPLAINED: a run of {done.steps:,} steps of the model writes these lines, in each thread's order, and "
            "ends with what is on the disks"
        ]
    elif done.verdict == "NOT EXPLAINED":
        out = [
            f"NOT EXPLAINED: no run of the model writes the line{at}", f"  {done.why}",
            "  a log that was edited, or that is of another ensemble, looks like this, too",
        ]  # fmt: skip
    else:
        out = [f"UNKNOWN{at}: {done.why}"]
    syncs = ", ".join(f"{count} by {kind}" for kind, count in sorted(done.syncs.items()))
    epochs = "1 epoch" if done.epochs == 1 else f"{done.epochs} epochs"
    progress = f"{done.explained:,} of {done.lines:,} lines, " if done.steps else f"{done.lines:,} lines, "
    out.append(f"{progress}{epochs}, learners brought up to date: {syncs or 'none'}")
    if done.named:
        out.append(f"the logs name {', '.join(done.named)}, which is not the release whose model this is")
    if done.votes:
        out.append(f"{done.votes:,} notifications: each vote is one that the run has")
    if done.transactions:
        out.append(f"{done.transactions:,} lines at DEBUG: each proposal and commit is one that the run has")
    if done.shifted:
        by = ", ".join(f"server {n} by {seconds:+,.0f} s" for n, seconds in sorted(done.shifted.items()))
        out.append(f"the clocks differ, and were set right for the search: {by}")
    if done.barren:
        out.append(f"left out: {done.barren} terms in which the logs have no synchronization")
    if done.broken:
        named = ", ".join(f"{k} (by {line.place})" if line is not None else k for k, line in done.broken.items())
        out.append(f"the run violates {named}; another run that explains the logs may not")
    elif done.verdict == "EXPLAINED":
        out.append(
            f"the run violates no property at any of {done.judged} moments (ends of terms, starts, UPTODATE, the end)"
        )
    out.append(f"{done.seconds:.1f} CPU-s")
    return out
