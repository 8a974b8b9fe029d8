"""The commands of zabcheck as functions, which the package `zabcheck` exports.

A keyword is an option of the command (`time_limit=60` is `--time-limit 60`). The command itself parses and checks it,
so both make the same request and refuse the same ones with the same message.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

from checker.answers import (
    Reported,
    TrackRecord,
)
from checker.errors import RequestError
from checker.report.simulated import Simulated
from checker.requests.request import sentences

if TYPE_CHECKING:
    import networkx as nx

    from traces.record.trace import Trace
    from zabspec.simulator.run import Run

    AnyRun = Trace | Simulated | Run | str | PathLike[str] | Sequence[str | PathLike[str]]


def causal_graph(run: AnyRun, relation: str = "broadcasts", number: int | None = None) -> nx.DiGraph[int]:
    """Return the events of a run and what happens before what, as a graph of `networkx`.

    There is a path from one event to another if and only if the first happens before the second. A trace and a
    simulated run have both relations. An event table has `broadcasts`, up to 200,000 broadcasts and deliveries: a
    receipt does not say which message it is of. Text logs have proposals and commits, and no messages; `assumed` marks
    the commits that no line states: those a server has from a synchronization. `graph["incomplete"]` lists what the
    source leaves out: a broadcast of an unknown process has no edge from earlier events of that process.
    docs/how-to/traces-and-pictures.md has an example.

    Args:
        run: a trace or its file, an answer of `simulate` or its run, an event table, or the paths of text logs of
            ZooKeeper servers.
        relation: `broadcasts`, of DSN'11's Definition III.1: abcasts and deliveries of transactions; or `messages`, of
            all that processes do and the messages between them, which a table and a log do not have.
        number: of a run in an event table; None: the table has one alone.

    Raises:
        RequestError: there is no such run or relation, or the run does not have what the relation needs.
        NoVerdict: the simulated run has no end.
    """
    from checker.requests.causality import causal_graph as made

    return made(run.run if isinstance(run, Simulated) else run, relation, number)


def report(run: str | PathLike[str]) -> Reported:
    """Read a report of an exploration that `zabcheck --json` or `as_json()` wrote; its page draws every run again.

    Raises:
        RequestError: there is no such report, or it contradicts itself.
    """
    from pathlib import Path

    from checker.report.claimed import read_report
    from checker.report.page import ReportError
    from checker.report.result import StatedResult

    try:
        given = read_report(Path(run))
    except ReportError as problem:
        raise RequestError(str(problem)) from None
    sentence = given["sentence"]
    return Reported(StatedResult(sentence, int(given["exit_code"]), given, [sentence], kind="report"), given)


def zookeeper(*issues: str, time_limit: float | None = None, split: bool = False, release: str = "") -> TrackRecord:
    """Reproduce known bugs of ZooKeeper: a release with every other known fix, without its own and with it.

    Args:
        issues: rows, such as `ZK-4643`, whose stories the answer includes; without any, all rows.
        time_limit: seconds for each exploration.
        split: explore each step separately.
        release: run the rows on this one; empty for the release that each is recorded for.

    Raises:
        RequestError: there is no such row or release.
    """
    from checker.requests.zookeeper import ZookeeperRequest, answer
    from checker.zookeeper.answered import rows_result, story_parts

    with sentences():
        request = ZookeeperRequest(issues, time_limit, split, release)
        rows = list(answer(request))
        stories = [part for one in rows for part in story_parts(one)] if issues else []
        return TrackRecord(rows_result(request.as_json(), rows, split, stories), rows)
