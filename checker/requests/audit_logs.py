"""Judge text logs of ZooKeeper servers: a history of phases, of proposals and of commits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import RequestError
from checker.requests.request import Request

if TYPE_CHECKING:
    from checker.report.audit_logs import LogsReport
    from traces.zookeeper.text_logs import BrokenCondition, LogEvent, TextHistory

TXN = re.compile(r"<(\d+),(\d+)>")


@dataclass(frozen=True)
class AuditLogsRequest(Request):
    """Text logs.

    Attributes:
        logs: the files (`zookeeper.log`), of one server or several.
    """

    kind: ClassVar[str] = "audit-logs"

    logs: tuple[str, ...] = ()

    def validate(self) -> None:
        if not self.logs:
            raise RequestError("name the text logs of the servers")


def answer(request: AuditLogsRequest) -> LogsReport:
    """Read text logs and judge their history.

    Raises:
        RequestError: a file cannot be read, no line is evidence, or a package needed for judging is not installed.
    """
    from checker.report.audit_logs import LogsReport
    from traces.zookeeper.text_logs import read_text_logs
    from zabspec.files import Unreadable

    try:
        history = read_text_logs([Path(name) for name in request.logs])
    except Unreadable as problem:
        raise RequestError(str(problem)) from None
    if not history.phases and history.rows is None:
        raise RequestError("no line of these files is one in which ZooKeeper logs a phase, a proposal or a commit")
    judged, breaks = properties(history)
    return LogsReport(history, judged, [*history.broken, *breaks], request.as_json())


def properties(history: TextHistory) -> tuple[dict[str, str], list[BrokenCondition]]:
    """Return the history properties over proposals and commits, each with its verdict, and their violations.

    Raises:
        RequestError: a package needed for judging is not installed.
    """
    if history.rows is None:
        return {}, []
    from traces.tables.table import TableError, check_arrow

    try:
        check_arrow("numpy")
    except TableError as problem:
        raise RequestError(str(problem)) from None
    from traces.judging.runs import JUDGED
    from traces.judging.single_run import judge_rows
    from traces.judging.totals import COUNTS
    from traces.zookeeper.decode import zxid_text
    from traces.zookeeper.text_logs import OBSERVES, BrokenCondition

    tally = judge_rows(history.rows, OBSERVES)
    broken = []
    for v in tally.violations:
        lines = [
            history.lines.get((e.process, e.position))
            for e in v.events
            if e.process is not None and e.position is not None
        ]
        why = v.why
        for k, server in enumerate(sorted(history.servers)):
            why = why.replace(f"p{k} ", f"server {server} ")
        said = [e for e in lines if e is not None]
        why = TXN.sub(lambda t: zxid_text(int(t[1]) << 32 | int(t[2])), why)
        broken.append(BrokenCondition(v.property, step_of(said), why, said))
    out = {}
    for p, counts in zip(JUDGED, tally.counts, strict=True):
        if not p.default:
            continue
        out[p.name] = next((word for word, count in zip(COUNTS, counts, strict=True) if count), "not judged")
    return out, broken


def step_of(lines: list[LogEvent]) -> str:
    """Return the step that log lines record, as the paper calls it: a commit, if there is one among them."""
    kinds = {e.kind for e in lines}
    return "f.3.3" if "commit" in kinds else "l.3.1" if "propose" in kinds else ""
