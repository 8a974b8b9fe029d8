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

from checker.answers import Explored, Inductive, Judged, Replayed, Simulated
from checker.errors import NoVerdict, RequestError
from invariants.registry import Property
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
    "NoVerdict", "RequestError", "causal_graph", "explore", "judge", "prove_inductive", "replay", "simulate",
    "state_graph",
]  # fmt: skip


AnyProtocol = Protocol | Declaration | ModuleType | str | PathLike[str]
Names = Sequence[str | Property]


class Sizes(TypedDict, total=False):
    """Which configuration of a protocol; `budgets` has those that it declares itself, and any other by its name."""

    variant: str
    nodes: int
    txns: int
    timeouts: int
    crashes: int
    losses: int
    partitions: int
    network: str
    drops: int
    duplicates: int
    heartbeats: int
    budgets: Mapping[str, int]
    max_epoch: int
    channel: int


class Exploring(Sizes, total=False):
    """Options of an exploration; `zabcheck --help` says what each means."""

    repair: str
    start: str
    quorums: str | PathLike[str]
    depth: int
    properties: Names
    require_witness: bool | Sequence[str]
    keep_going: bool
    symmetry: bool
    reduction: str
    engine: str
    threads: int
    max_states: int
    time_limit: float
    memory_limit: str
    symbolic: float
    trace: str | PathLike[str]
    evidence: str


class Simulating(TypedDict, total=False):
    """Options of a simulated run; `zabcheck simulate --help` says what each means.

    `budgets` has those that a protocol declares itself.
    """

    seed: int
    nodes: int
    rounds: int
    proposals: int
    partition: str
    variant: str
    repair: str
    network: str
    oracle: str
    delay: str
    cut: Sequence[str]
    heal: Sequence[str]
    crash: Sequence[str]
    recover: Sequence[str]
    lose: Sequence[str]
    timeout: Sequence[str]
    check: bool
    engine: str
    budgets: Mapping[str, int]
    start: str
    quorums: str | PathLike[str]


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
