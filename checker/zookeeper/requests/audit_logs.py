"""Judge text logs of ZooKeeper servers: a history of phases, of proposals and of commits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import RequestError
from checker.requests.base.request import File, Files, Option, Request, function, names_in
from checker.requests.base.watch import QUIET, Watch

if TYPE_CHECKING:
    from checker.zookeeper.report.audit_logs import LogsAudited
    from traces.zookeeper.server_logs.log_lines import ServerLine
    from traces.zookeeper.server_logs.text_logs import BrokenCondition, TextHistory

TXN = re.compile(r"<(\d+),(\d+)>")


@dataclass(frozen=True)
class AuditLogsRequest(Request):
    """Judge text logs of ZooKeeper servers (`zookeeper.log`): a history of phases, of proposals and of commits."""

    kind: ClassVar[str] = "audit-logs"
    draws: ClassVar[bool] = True
    mode: ClassVar[str | Option] = Option("The arguments are text logs (zookeeper.log) of the servers.", flag="logs")

    servers: Annotated[Files, Option(argument=True)] = ()
    svg: Annotated[File, Option("With --logs: also draw the events of the logs.", place="stream")] = ""

    def validate(self) -> None:
        if not self.servers:
            raise RequestError("name the text logs of the servers")

    def answer(self, watch: Watch = QUIET) -> LogsAudited:
        from checker.zookeeper.report.audit_logs import LogsAudited
        from traces.zookeeper.server_logs.text_logs import read_text_logs

        history = read_text_logs([Path(name) for name in names_in(self.servers)])
        if not history.phases and history.rows is None:
            raise RequestError("no line of these files is one in which ZooKeeper logs a phase, a proposal or a commit")
        judged, breaks = properties(history)
        broken = sorted([*history.broken, *breaks], key=lambda b: max((e.time for e in b.lines), default="~"))
        return LogsAudited(history, judged, broken, self)


audit_logs = function(AuditLogsRequest)


def properties(history: TextHistory) -> tuple[dict[str, str], list[BrokenCondition]]:
    """Return the history properties over proposals and commits, each with its verdict, and their violations.

    Raises:
        RequestError: a package needed for judging is not installed.
    """
    if history.rows is None:
        return {}, []
    from traces.events.table import check_arrow

    check_arrow("numpy")
    from traces.judging.runs import JUDGED
    from traces.judging.single_run import judge_rows
    from traces.judging.totals import COUNTS
    from traces.zookeeper.disk.decode import zxid_text
    from traces.zookeeper.server_logs.text_logs import OBSERVES, BrokenCondition

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


def step_of(lines: list[ServerLine]) -> str:
    """Return the step that log lines record, as the paper calls it: a commit, if there is one among them."""
    kinds = {e.kind for e in lines}
    return "f.3.3" if "commits" in kinds else "l.3.1" if "proposes" in kinds else ""
