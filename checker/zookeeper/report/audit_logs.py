"""Report the result of judging text logs of servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.errors import HELD, NO_VERDICT, VIOLATED
from checker.plain_text import one_line
from checker.report.answer import Answered, Picture
from checker.report.result import Part, Verdict
from zabspec import __version__

if TYPE_CHECKING:
    from checker.requests.base.request import Request
    from traces.zookeeper.server_logs.log_picture import LogPicture
    from traces.zookeeper.server_logs.text_logs import BrokenCondition, TextHistory

SHOWN = 200  # phases in the text


def headline(report: LogsAudited) -> str:
    """Return a line that says whether data is in danger, as far as text logs show, and what not to do."""
    delete = "Do not delete, move away or replace any directory"
    if report.history.doubled:
        return (
            f"UNKNOWN: {one_line(report.history.doubled)}: they are of two servers with one number, or one log given "
            f"twice. {delete} before it is known."
        )
    if report.broken:
        first = report.broken[0]
        shown = max(first.lines, key=lambda e: e.time, default=None)  # with this line it is complete
        where = f" ({first.rule}{f', {shown.place}' if shown is not None else ''})"
        return (
            f"VIOLATION: by these logs the servers diverged{where}: clients may have read different data. {delete}: "
            f"copy the directories of all servers, and audit the copies."
        )
    if report.judged:
        return (
            f"OK: nothing in these logs violates a property. They show little of the disks: audit those too. {delete} "
            "before."
        )
    if report.exit_code == HELD:
        return (
            "OK: elections and synchronizations are normal, and these logs (at INFO) show nothing else: only the "
            f"disks show whether data is in danger. {delete} before they are audited."
        )
    return f"UNKNOWN: these logs do not show whether data is in danger. {delete} before the disks are audited."


@dataclass(frozen=True, repr=False)
class LogsAudited(Answered):
    """The verdicts on a history that text logs record.

    Attributes:
        judged: the properties, each with its verdict; empty if there are no proposals and commits.
        broken: each violation, with its lines.
        request: the request; it says what is drawn.
    """

    history: TextHistory
    judged: Mapping[str, str]
    broken: Sequence[BrokenCondition]
    request: Request | None = None

    kind = "audit-logs"

    @property
    def exit_code(self) -> int:
        if self.history.doubled:
            return NO_VERDICT
        if self.broken:
            return VIOLATED
        return HELD if self.judged or self.history.rows is None else NO_VERDICT

    @property
    def sentence(self) -> str:
        h = self.history
        return (
            f"{headline(self).split(':')[0]}: {len(h.servers)} servers, {len(h.phases):,} phases, "
            f"{h.proposals:,} proposals, {h.commits:,} commits, {h.silent:,} silent steps"
        )

    @property
    def assumed(self) -> list[str]:
        """Return the lines on what the verdict rests on although no line of a log says it."""
        return [f"Assumed of {name}: {one_line(said)}." for name, said in self.history.assumed.items()]

    def said(self) -> Iterator[Verdict]:
        why = {b.rule: b.sentence for b in reversed(self.broken)}
        return (Verdict(name, word, None, why.get(name, "")) for name, word in self.judged.items())

    @cached_property
    def drawn(self) -> LogPicture:
        """The events of the logs, drawn."""
        from traces.zookeeper.server_logs.log_picture import picture_of_logs

        return picture_of_logs(self.history, self.broken, __version__)

    def drawing(self) -> str:
        from traces.zookeeper.server_logs.log_picture import page_of_logs

        return page_of_logs(self.drawn, " ".join([headline(self), *self.assumed]))

    def picture(self) -> Picture:
        """Return the history that the logs record, as an SVG diagram."""
        from traces.pictures.svg import document

        return Picture(document(self.drawn.picture))

    @property
    def outputs(self) -> Sequence[tuple[Path, bytes]]:
        named = self.request.outputs if self.request else {}
        return [(path, self.picture().encode()) for path in named.values()]

    def parts(self) -> Sequence[Part]:
        from traces.zookeeper.server_logs.text_logs import phase_text

        lines, silent = [headline(self), *self.assumed], self.history.without_events
        lines.append(self.sentence.split(": ", 1)[1])
        lines += [f"note: {one_line(name)} has no line of a phase, a proposal or a commit" for name in silent]
        for b in self.broken:
            step = f" ({b.step})" if b.step else ""
            lines += ["", f"{b.rule}{step}: {one_line(b.sentence)}", *(f"  {e.place}" for e in b.lines)]
        if self.judged:
            words = sorted(set(self.judged.values()))
            lines += ["", *(f"{w}: {', '.join(n for n, v in self.judged.items() if v == w)}" for w in words)]
        else:
            lines += ["", "The logs have no proposals and commits (they are at INFO): only phases were checked."]
        phases = self.history.phases
        lines += ["", "Phases:", *(f"  {e.time[:23]} {phase_text(e)}  {e.place}" for e in phases[:SHOWN])]
        if len(phases) > SHOWN:
            lines.append(f"  and {len(phases) - SHOWN:,} more (--json lists all)")
        return ["\n".join(lines)]

    def details(self) -> dict[str, Any]:
        h = self.history
        return {
            "format": 1,
            "headline": headline(self),
            "assumed": self.history.assumed,
            "servers": {str(n): files for n, files in h.servers.items()},
            "phases": [
                {
                    "time": e.time, "server": e.server, "line": e.place, "kind": e.kind, "value": e.value,
                    "detail": str(e.learner or e.phase),
                }
                for e in h.phases
            ],
            "proposals": h.proposals,
            "commits": h.commits,
            "silent_steps": h.silent,
            "properties": dict(self.judged),
            "violations": [
                {"property": b.rule, "step": b.step, "why": b.sentence, "lines": [e.place for e in b.lines]}
                for b in self.broken
            ],
        }  # fmt: skip
