"""Report the result of `zabcheck conform`, in words and as JSON."""

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
    from traces.zookeeper.conform.explained import EXPLAINED, UNKNOWN

    wrong = done.verdict not in (EXPLAINED, UNKNOWN) or bool(done.broken or done.lost)
    code = EXIT_CODES[VIOLATED if wrong else HOLDS if done.verdict == EXPLAINED else NO_VERDICT]
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
    syncs = ", ".join(f"{count} by {kind}" for kind, count in sorted(done.syncs.items()))
    elections = "1 epoch" if done.elections == 1 else f"{done.elections} epochs"
    out.append(
        f"{done.explained:,} of {done.total:,} observations are explained; {done.packets:,} packets, {elections}, "
        f"learners brought up to date: {syncs or 'none'}"
    )
    if done.unjudged:
        out.append(f"{done.unjudged:,} packets were sent to a closed connection, and are not checked")
    if done.broken:
        said = ", ".join(f"{name} (by line {number})" for name, number in done.broken.items())
        out.append(f"the run that explains it violates {said}; another run that explains it may not")
    elif done.verdict == "EXPLAINED":
        out.append(
            f"the run violates no property at any of {done.judged} moments (ends of terms, starts, UPTODATE, the end)"
        )
    out += [f"clients: {said}" for said in done.lost[:20]]
    if len(done.lost) > 20:
        out.append(f"and {len(done.lost) - 20} more")
    out.append(f"{done.states:,} states explored, at most {done.widest:,} at once; {done.seconds:.1f} CPU-s")
    return out
