"""What `zabcheck` exports: the commands as functions.

A keyword is an option of the command (`time_limit=60` is `--time-limit 60`), parsed and checked by the command itself,
so that both ask the same question and refuse the same ones, in the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from checker.answers import (
    Audited,
    Checked,
    Explored,
    Exported,
    Inductive,
    Judged,
    Minimised,
    Planned,
    QuorumsChecked,
    Replayed,
    Simulated,
    TrackRecord,
)
from checker.errors import NoVerdict, RequestError
from checker.requests.options import Exploring, Names, Simulating, Sizes
from zabspec.authoring.declaration import ConfigError, Declaration
from zabspec.deprecated import Contradiction, current_keys
from zabspec.language import LanguageError
from zabspec.protocols.registry import Protocol

if TYPE_CHECKING:
    import networkx as nx

    from traces.record.trace import Trace
    from zabspec.simulator.run import Run

    AnyRun = Trace | Simulated | Run | str | PathLike[str] | Sequence[str | PathLike[str]]

__all__ = [
    "NoVerdict", "RequestError", "audit", "causal_graph", "check", "explore", "export", "judge", "minimise", "plan",
    "prove_inductive", "quorums", "replay", "simulate", "state_graph", "zookeeper",
]  # fmt: skip


AnyProtocol = Protocol | Declaration | ModuleType | str | PathLike[str]


class Graphing(Sizes, total=False):
    """Options of a graph of states; `zabcheck graph --help` says what each means."""

    repair: str
    start: str
    depth: int
    max_states: int
    properties: Names
    symmetry: bool


class Judging(TypedDict, total=False):
    """Options of judging a table; `zabcheck judge --help` says what each means."""

    protocol: str
    properties: Names
    engine: str
    master: str
    threads: int
    allow_open: bool


class Inducting(Sizes, total=False):
    """Options of an induction; `zabcheck induct --help` says what each means. Budgets above 0 are any number."""

    clauses: Names
    assume: Names
    without: Names
    k: int
    query_limit: float
    time_limit: float
    seed: int
    jobs: int
    witness_states: int
    require_witness: bool | Sequence[str]
    smt2: str | PathLike[str]


class Auditing(TypedDict, total=False):
    """Options of an audit; `zabcheck audit --help` says what each means."""

    config: str | PathLike[str]
    digests: bool
    engine: str
    master: str
    show_data: bool
    release: str


class Planning(TypedDict, total=False):
    """Options of a plan; `zabcheck plan --help` says what each means. Times and sizes are text with their unit."""

    latency: str
    disk: str
    forced_write: str
    size: str | int
    outstanding: int
    slow: int
    slow_by: str
    quorum: str


class Exporting(TypedDict, total=False):
    """Options of an export of a trace; `zabcheck export --help` says what each means."""

    output: str | PathLike[str]
    relation: str
    cone: int


def explore(protocol: AnyProtocol = "zab", **options: Unpack[Exploring]) -> Explored:
    """Explore a protocol breadth-first and judge its properties.

    Args:
        protocol: as `--protocol` names it, by its file or module; or what that declares, or the module itself.
        options: those of the command. No file is written unless `trace` names one.

    Raises:
        RequestError: the question was wrong.
        NoVerdict: it could not be asked at all, as where an initial value would leave its range.
    """
    from checker.evidence.gathered import with_evidence
    from checker.requests.explore import ExploreRequest, answer
    from checker.requests.keywords import request_of
    from checker.terminal import TerminalWatch

    with sentences():
        request = request_of(ExploreRequest, named(protocol), options)
        return Explored(with_evidence(answer(request, TerminalWatch()), request))


def simulate(protocol: AnyProtocol = "db19", **options: Unpack[Simulating]) -> Simulated:
    """Run a cluster in the simulator; `check=True` judges the run by the properties of histories.

    Raises:
        RequestError: the question was wrong.
        NoVerdict: the run has no end.
    """
    from checker.requests.keywords import request_of
    from checker.requests.simulate import SimulateRequest, answer

    with sentences():
        return Simulated(answer(request_of(SimulateRequest, named(protocol), options)))


def replay(trace: Trace | str | PathLike[str]) -> Replayed:
    """Play a trace in the simulator and compare every step with the recorded one.

    Args:
        trace: a trace, or the file of one.

    Raises:
        RequestError: it is no trace, or is not what its schedule does: the first difference.
        NoVerdict: the explorer confirms it and the simulator does not, which is a bug of zabcheck.
    """
    from checker.report.replayed import ReplayResult
    from checker.requests.replay import ReplayRequest, answer, replayed
    from traces.record.trace import Trace

    with sentences():
        if isinstance(trace, Trace):
            return Replayed(ReplayResult(trace, replayed(trace, "the trace")))
        return Replayed(answer(ReplayRequest(fspath(trace))))


def judge(table: str | PathLike[str], **options: Unpack[Judging]) -> Judged:
    """Judge every run in an event table by the properties of histories.

    Raises:
        RequestError: the question was wrong, or what reads tables is not installed.
        NoVerdict: Spark failed.
    """
    from checker.requests.judge import JudgeRequest, answer
    from checker.requests.keywords import fields_of

    with sentences():
        return Judged(answer(JudgeRequest(fspath(table), **fields_of(JudgeRequest, options))))


def causal_graph(run: AnyRun, relation: str = "broadcasts", number: int | None = None) -> nx.DiGraph[int]:
    """Return the events of a run and what happens before what, as a graph of `networkx` (docs/causality.md).

    There is a path from one event to another if and only if the first happens before the second.

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


def state_graph(protocol: AnyProtocol = "zab", **options: Unpack[Graphing]) -> nx.DiGraph[int]:
    """Return the states of a protocol and the steps between them, as a graph of `networkx` (docs/graph.md).

    `checker.graph.questions` has what can be asked of it. Nothing is left out but what lies beyond `depth`. With
    symmetry, which is on unless `symmetry=False` or the protocol tells processes apart, a node is an orbit.

    Args:
        protocol: as `explore` takes it.
        options: those of the command.

    Raises:
        RequestError: the request is wrong, or the graph has more than `max_states` states (100,000).
        NoVerdict: a state meets a run-time error.
    """
    from checker.requests.graph import GraphRequest
    from checker.requests.graph import state_graph as made
    from checker.requests.keywords import request_of
    from checker.terminal import TerminalWatch

    with sentences():
        return made(request_of(GraphRequest, named(protocol), options), TerminalWatch())


def prove_inductive(protocol: AnyProtocol = "zab", **options: Unpack[Inducting]) -> Inductive:
    """Ask z3 whether clauses are kept by every step from every state that satisfies them.

    Several processes ask. In a script that is no notebook, call it below `if __name__ == "__main__":`.

    Raises:
        RequestError: the question was wrong.
    """
    from checker.requests.induct import InductRequest, answer
    from checker.requests.keywords import request_of
    from checker.requests.queries import queries_into

    with sentences():
        request = request_of(InductRequest, named(protocol), current_options("zabcheck.prove_inductive", options))
        with queries_into(request.smt2):
            return Inductive(answer(request))


def audit(*servers: str | PathLike[str], **options: Unpack[Auditing]) -> Audited:
    """Audit the data directories of ZooKeeper servers. Nothing is written to them.

    Args:
        servers: each a data directory, or data and log directory as `DATA,LOGS`.
        options: those of the command.

    Raises:
        RequestError: a directory or an option is wrong.
    """
    from checker.report.audit import AuditReport
    from checker.requests.audit import AuditRequest, answer
    from checker.requests.keywords import fields_of

    with sentences():
        request = AuditRequest(tuple(fspath(s) for s in servers), **fields_of(AuditRequest, options))
        return Audited(AuditReport(answer(request), request.as_json()))


def quorums(config: str | PathLike[str], seed: int = 0, query_limit: float = 10.0) -> QuorumsChecked:
    """Prove that the quorums of a `zoo.cfg` intersect, or find two that do not.

    Raises:
        RequestError: the configuration or an option is wrong.
    """
    from checker.report.quorums import quorums_result
    from checker.requests.quorums import QuorumsRequest, answer

    request = QuorumsRequest(fspath(config), seed, query_limit)
    found = answer(request)
    return QuorumsChecked(quorums_result(request.as_json(), found.as_json(), found.code), found)


def plan(servers: int | None = None, config: str | PathLike[str] | None = None, **options: Unpack[Planning]) -> Planned:
    """Estimate the throughput and the latency of an ensemble, by a model: it is no measurement.

    Args:
        servers: how many there are; None: as many as vote in the configuration, or 3.
        config: a `zoo.cfg`.
        options: those of the command.

    Raises:
        RequestError: an option is wrong, or both are given.
    """
    from pathlib import Path

    from checker.report.planned import plan_result
    from checker.requests.audit import config_text
    from checker.requests.keywords import fields_of
    from checker.requests.plan import SIZES, TIMES, PlanRequest, amount, answer
    from zabspec.ensemble import parse

    if config is not None and servers is not None:
        raise RequestError("--servers does not go with a configuration, which has its servers")
    ensemble = parse(config_text(Path(config))) if config is not None else None
    count = len(ensemble.participants) if ensemble is not None else 3 if servers is None else servers
    values: dict[str, Any] = dict(options)
    for name, units, example in (
        ("latency", TIMES, "100us or 2ms"), ("forced_write", TIMES, "0.4ms"), ("slow_by", TIMES, "500us or 10ms"),
        ("size", SIZES, "1k or 512"),
    ):  # fmt: skip
        if isinstance(values.get(name), str):
            values[name] = amount(values[name], units, f"--{name.replace('_', '-')}", example)
        elif units is TIMES and values.get(name) is not None:
            raise RequestError(f"--{name.replace('_', '-')} must be like {example}, not {values[name]!r:.60}")
    request = PlanRequest(count, **fields_of(PlanRequest, values))
    setting, found = answer(request)
    return Planned(plan_result(request.as_json(), setting, found, ensemble), setting, found)


def export(trace: Trace | str | PathLike[str], form: str, **options: Unpack[Exporting]) -> Exported:
    """Write a trace in another form: the answer has it, and so has the file that `output` names.

    Args:
        trace: a trace, or the file of one.
        form: as of `--to`.
        options: those of the command.

    Raises:
        RequestError: it is no trace, or there is no such form.
    """
    from checker.report.result import StatedResult
    from checker.requests.export import ExportRequest, answer
    from checker.requests.keywords import fields_of
    from traces import read_trace

    with sentences(), in_a_file(trace) as file:
        request = ExportRequest(file, form, **fields_of(ExportRequest, options))
        data = answer(request)
        whole = read_trace(file)
    size = f"{len(data):,} bytes of {form}" + (f", saved as {request.output}" if request.output else "")
    result = StatedResult(size, content={"form": form, "bytes": len(data)}, text=[size], kind="export")
    return Exported(result, whole, data)


def minimise(
    trace: Trace | str | PathLike[str], output: str | PathLike[str] | None = None, search: float = 20.0
) -> Minimised:
    """Shorten a counterexample: fewer steps, faults, messages, transactions and processes.

    Args:
        trace: a trace, or the file of one.
        output: where the shorter one is saved; None: nowhere.
        search: seconds of exploring for a shorter one.

    Raises:
        RequestError: it is no trace, or violates nothing.
        NoVerdict: the shorter one does not replay, which is a bug of zabcheck.
    """
    from tempfile import TemporaryDirectory

    from checker.report.shortened import shortened_result
    from checker.requests.minimise import MinimiseRequest, answer

    with sentences(), in_a_file(trace) as file, TemporaryDirectory() as folder:
        saved = "" if output is None else fspath(output)
        request = MinimiseRequest(file, saved or f"{folder}/shorter.trace.json", search)
        found = answer(request)
    return Minimised(shortened_result(MinimiseRequest(file, saved, search).as_json(), found, saved), found)


def check(
    file: str | PathLike[str] | None = None, only: Sequence[str] = (), changed_since: str | None = None
) -> Checked:
    """Run the checks of a file and hold what they find against what it expects. Nothing is written.

    Args:
        file: None: `zabcheck.toml`, or `pyproject.toml` with a table `tool.zabcheck`.
        only: names of checks; none: all of them.
        changed_since: a commit: only what may differ since then is run.

    Raises:
        RequestError: the file, a name or the question is wrong.
    """
    import datetime
    from pathlib import Path

    from checker.ci.configuration import MatrixError, default_file, read_matrix
    from checker.ci.selection import chosen, result_of

    with sentences():
        try:
            matrix = read_matrix(default_file() if file is None else Path(file))
            left = chosen(matrix, [only] if isinstance(only, str) else only, changed_since)
            return Checked(result_of(matrix, left, datetime.datetime.now(datetime.UTC).date()))
        except MatrixError as problem:
            raise RequestError(str(problem)) from None


def zookeeper(*issues: str, time_limit: float | None = None, split: bool = False, release: str = "") -> TrackRecord:
    """Find known bugs of ZooKeeper again: a release with every other known fix, without its own and with it.

    Args:
        issues: rows, such as `ZK-4643`, whose stories the answer tells; none: all rows.
        time_limit: seconds for each exploration.
        split: take each step by itself.
        release: ask the rows of this one; empty: each of the release that it is on record for.

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


@contextmanager
def in_a_file(trace: Trace | str | PathLike[str]) -> Iterator[str]:
    """The file of a trace; one that is in no file is in a temporary one meanwhile."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from traces import write_trace
    from traces.record.trace import Trace

    if not isinstance(trace, Trace):
        yield fspath(trace)
        return
    with TemporaryDirectory() as folder:
        file = Path(folder) / "run.trace.json"
        write_trace(trace, file)
        yield str(file)


def current_options(function: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the keywords of a function with their new names.

    Raises:
        RequestError: one is given under its old and its new name, with different values.
    """
    try:
        renamed: Mapping[str, Any] = current_keys(function, dict(options))
    except Contradiction as problem:
        raise RequestError(f"{function}: {problem}") from None
    return renamed


def named(protocol: AnyProtocol) -> str:
    """A protocol as `--protocol` names it: one that is declared, by the file of its text, which is read again.

    Raises:
        RequestError: its text is in no file.
    """
    if isinstance(protocol, Protocol):
        return protocol.name
    if isinstance(protocol, Declaration):
        protocol = protocol.text
    if not isinstance(protocol, ModuleType):
        return fspath(protocol)
    file = getattr(protocol, "__file__", None)
    if file is None:
        raise RequestError(f"the text of {protocol.__name__} is in no file: write it into one, and name that")
    return str(file)


@contextmanager
def sentences() -> Iterator[None]:
    """How a command ends, as exceptions with its sentence."""
    try:
        yield
    except (ConfigError, LanguageError) as problem:
        raise RequestError(str(problem)) from None
