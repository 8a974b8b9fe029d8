"""Report the result of `zabcheck conform`, of a record and of the servers' own logs, in words and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.report.answer import StatedAnswer
from checker.report.result import EXIT_CODES, HOLDS, NO_VERDICT, VIOLATED

if TYPE_CHECKING:
    from traces.zookeeper.conform.explained import Conformed as RecordOutcome
    from traces.zookeeper.conform.from_lines import FromLines

MOMENTS = "moments (ends of terms, starts, UPTODATE, the end)"
LIMITS = (
    "for runs in which no thread is more than 16 transactions behind, except on stalled disks, no proposal is more "
    "than 12 observations ahead of its first packet, and the end of a term closes all connections within 25 "
    "observations"
)


@dataclass(frozen=True, repr=False)
class Conformed(StatedAnswer):
    """The answer of a conformance check: whether a run of a release's model explains an ensemble's record.

    Attributes:
        outcome: how much of the record, or of the logs, is explained, and what the explaining run violates; None if
            the run was only recorded.
        folder: the files that the ensemble left; None if no ensemble was run.
    """

    outcome: RecordOutcome | FromLines | None = None
    folder: Path | None = None
    kind: str = "conform"


def conformed_result(request: Mapping[str, Any], done: RecordOutcome, folder: Path | None = None) -> Conformed:
    """Return the result of `zabcheck conform` or `zabcheck chaos`.

    Args:
        request: the one that it answers, as JSON.
        folder: the files that the ensemble left; None if none was run.
    """
    code = EXIT_CODES[VIOLATED] if done.lost else code_of(done)
    lines = [*told_conformed(done), *([left_in(folder)] if folder is not None else [])]
    at = None if done.at is None else {"line": done.at.number, "observation": done.at.told()}
    content = {"request": dict(request), "exit_code": code, **asdict(done), "at": at}
    return Conformed(lines[0], code, content, lines, outcome=done, folder=folder)


def recorded_result(request: Mapping[str, Any], folder: Path) -> Conformed:
    """Return the result of `zabcheck chaos --record-only`."""
    content = {"request": dict(request), "exit_code": 0, "folder": str(folder)}
    return Conformed(left_in(folder), 0, content, [left_in(folder)], folder=folder)


def left_in(folder: Path) -> str:
    return f"kept in {folder}: record.jsonl, the servers' data and logs (zabcheck audit reads them)"


def told_conformed(done: RecordOutcome) -> list[str]:
    """Return the lines for a terminal."""
    out = []
    but = f" except {done.unjudged:,} sent to a closed connection" if done.unjudged else ""
    if done.verdict == "EXPLAINED":
        out.append(
            f"EXPLAINED: a run of {done.steps:,} steps of the model sends each packet of the record{but}, and ends "
            "with what is on the disks"
        )
    elif done.at is not None:
        out.append(f"NOT EXPLAINED: no run of the model continues with line {done.at.number}, {done.at.told()}")
        out += [f"  {reason}" for reason in done.reasons]
        out.append(f"  ({LIMITS})")
    else:
        out.append(f"UNKNOWN: {done.why}")
    explained = f"{done.explained:,} of {done.total:,} observations are explained; {done.packets:,} packets, "
    out.append(explained + epochs_text(done.elections, done.syncs))
    if done.unjudged:
        out.append(f"{done.unjudged:,} packets were sent to a closed connection, and are not checked")
    if done.broken:
        said = ", ".join(f"{name} (by line {number})" for name, number in done.broken.items())
        out.append(f"the run that explains it violates {said}; another run that explains it may not")
    elif done.verdict == "EXPLAINED":
        out.append(f"the run violates no property at any of {done.judged} {MOMENTS}")
    out += [f"clients: {said}" for said in done.lost[:20]]
    if len(done.lost) > 20:
        out.append(f"and {len(done.lost) - 20} more")
    out.append(f"{done.states:,} states explored, at most {done.widest:,} at once; {done.seconds:.1f} CPU-s")
    return out


def logs_conformed_result(request: Mapping[str, Any], done: FromLines) -> Conformed:
    """Return the result of a search in servers' logs.

    Args:
        request: the request that it answers, as JSON.
        done: the outcome of the search.
    """
    lines = told_logs(done)
    at = None if done.at is None else {"place": done.at.place, "line": done.at.told()}
    broken = {name: "" if line is None else line.place for name, line in done.broken.items()}
    content = {"request": dict(request), "exit_code": code_of(done), **asdict(done), "at": at, "broken": broken}
    return Conformed(lines[0], code_of(done), content, lines, outcome=done)


def told_logs(done: FromLines) -> list[str]:
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
    progress = f"{done.explained:,} of {done.lines:,} lines, " if done.steps else f"{done.lines:,} lines, "
    out.append(progress + epochs_text(done.epochs, done.syncs))
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
        out.append(f"the run violates no property at any of {done.judged} {MOMENTS}")
    out.append(f"{done.seconds:.1f} CPU-s")
    return out


def code_of(done: RecordOutcome | FromLines) -> int:
    """Return the exit code of a search for a run that explains what servers left."""
    if done.verdict == "NOT EXPLAINED" or done.broken:
        return EXIT_CODES[VIOLATED]
    return EXIT_CODES[HOLDS if done.verdict == "EXPLAINED" else NO_VERDICT]


def epochs_text(epochs: int, syncs: Mapping[str, int]) -> str:
    """Return how many epochs a run has, and how learners were brought up to date in it."""
    by = ", ".join(f"{count} by {kind}" for kind, count in sorted(syncs.items()))
    return f"{epochs} epoch{'' if epochs == 1 else 's'}, learners brought up to date: {by or 'none'}"
