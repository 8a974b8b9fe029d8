"""Record runs of the simulator as rows of the event table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from traces.events.table import OBSERVED, Rows, TableError, TableWriter
from traces.record.events import EventListener
from traces.record.notes import hear_history
from traces.record.trace import JsonTxn
from traces.record.values import value_json
from traces.shorten.realise import command_line
from zabspec.language.layout.kinds import Record
from zabspec.language.python.reference import StateView
from zabspec.protocols.registry import PROTOCOLS, Sizes
from zabspec.simulator.model import Cluster
from zabspec.simulator.run import Run, Simulator, play

if TYPE_CHECKING:
    pass

# What else a run shows: the event of `traces/record/events.py`, and the columns beside the process.
PLAIN: dict[str, tuple[str, dict[str, str]]] = {
    "crash": ("process", {}),
    "recover": ("process", {}),
    "timeout": ("process", {}),
    "timer": ("process", {"message": "timer"}),
    "oracle": ("process", {"peer": "leader"}),
    "connect": ("process", {"peer": "leader"}),
    "lost": ("process", {"peer": "peer"}),
    "role": ("process", {"message": "to"}),
    "send": ("from", {"peer": "to"}),
    "deliver": ("to", {"peer": "from"}),
    "drop": ("from", {"peer": "to", "detail": "why"}),
    "cut": ("from", {"peer": "to"}),
    "heal": ("from", {"peer": "to"}),
    "lose": ("from", {"peer": "to"}),
}


def observes(protocol: str) -> tuple[str, ...]:
    """Return which kinds of event the runs of a protocol record."""
    return tuple(kind for kind in OBSERVED if kind != "revise" or PROTOCOLS[protocol].declared.revises)


def write_table(rows: Rows, protocol: str, path: Path) -> None:
    """Write a run of a protocol as a table.

    Raises:
        TableError: there is no pyarrow.
        OSError: the file cannot be written.
    """
    with TableWriter(path, observes(protocol)) as table:
        table.add(rows)


def ready_field(protocol: str) -> str:
    """Return the name of the field that marks a process as ready (III.A).

    Raises:
        TableError: the protocol has no such field, or lacks another one that a table needs.
    """
    fields = {f.name for f in PROTOCOLS[protocol].parts(Sizes(1, 1, 1, 1, {})).fields}
    for name in ("ready", "synced"):
        if name in fields and "current_epoch" in fields:
            return name
    missing = "current_epoch" if "current_epoch" not in fields else "ready or synced"
    raise TableError(f"an event table needs a field {missing} of every process, which {protocol} does not have")


class History:
    """Records the events that handlers report as rows, by wrapping the functions of a program.

    Args:
        names: the program in the CPython world; its functions are replaced.
        txn: the kind of its transactions.
        rows: where the rows go.
    """

    def __init__(self, names: dict[str, Any], txn: Record, rows: Rows, protocol: str) -> None:
        self.rows = rows
        self.passing: dict[int, int] = {}
        self.attempt: dict[int, int] = {}
        self.in_pass: dict[int, int] = {}
        self.time = 0
        self.ready: set[int] = set()
        self.ready_field = ready_field(protocol)
        self.process = -1
        hear_history(names, txn, lambda s: self.process if self.process >= 0 else int(s.event_process), self.hears)
        self.txn = txn
        for name in ("revise", "end_pass", "end_leadership"):
            if name in names:
                names[name] = self.heard(names[name], getattr(self, f"on_{name}"))

    @staticmethod
    def heard(inner: Any, note: Any) -> Any:
        def call(s: StateView, *arguments: Any) -> Any:
            result = inner(s, *arguments)
            note(s, result, *arguments)
            return result

        return call

    @staticmethod
    def of(txn: JsonTxn) -> dict[str, int]:
        return {"epoch": txn["epoch"], "counter": txn["counter"], "identity": txn["value"]}

    def add(self, kind: str, process: int, **values: Any) -> None:
        self.rows.add(kind, int(process), time=self.time, **values)

    def look(self, s: StateView, p: int) -> None:
        """Record that a process has become ready, or is no longer."""
        now = bool(getattr(s, self.ready_field)[p])
        if now and p not in self.ready:
            self.ready.add(p)
            self.add("ready", p, primary_epoch=int(s.current_epoch[p]), attempt=self.attempt.get(p, 0))
        elif not now:
            self.ready.discard(p)

    def hears(self, s: StateView, name: str, p: int, values: dict[str, Any]) -> None:
        """Record a call of the observed history."""
        if name == "establish":
            self.add(name, p, primary_epoch=values["epoch"])
            for k, t in enumerate(values["history"]):
                self.add("initial", p, primary_epoch=values["epoch"], index=k, **self.of(t))
            return
        made = self.of(values["txn"])
        if name == "abcast":
            self.look(s, p)
            self.add(name, p, primary_epoch=made["epoch"], attempt=self.attempt.get(p, 0), **made)
        elif name == "abdeliver":
            place = self.in_pass.get(p, 0)
            self.in_pass[p] = place + 1
            self.add(name, p, index=place, **{"pass": self.passing.get(p, 0)}, **made)
        elif made["identity"]:
            self.add(name, p, primary_epoch=values["epoch"], **made)

    def on_revise(self, s: StateView, result: None, p: int, history: Any) -> None:
        delivered = self.in_pass.get(p, 0)
        if delivered:
            self.add("revise", p, index=len(history), **{"pass": self.passing.get(p, 0)})
            for k, t in enumerate(history):
                if k < delivered:
                    self.add(
                        "entry", p, index=k, **{"pass": self.passing.get(p, 0)}, **self.of(value_json(self.txn, t))
                    )

    def on_end_pass(self, s: StateView, result: None, p: int) -> None:
        self.in_pass[p] = 0
        self.passing[p] = self.passing.get(p, 0) + 1
        self.on_end_leadership(s, result, p)

    def on_end_leadership(self, s: StateView, result: None, p: int) -> None:
        self.attempt[p] = self.attempt.get(p, 0) + 1
        self.ready.discard(p)


class Recorder(EventListener):
    """Records a simulated run as rows; with `every`, also events that no property uses."""

    def __init__(self, simulator: Simulator, rows: Rows, every: bool = True) -> None:
        protocol = simulator.cluster.protocol
        self.every = every
        self.history = History(simulator.names, simulator.cluster.parts.txn, rows, protocol)
        super().__init__(simulator)

    def note(self, s: StateView, event: str, **what: Any) -> None:
        if event in PLAIN:
            whose, columns = PLAIN[event]
            self.history.time = int(s.sim_moment)
            if not self.every:
                return
            values = {column: what[key] for column, key in columns.items()}
            if "message" in what:
                values["message"] = what["message"]["kind"]
            self.history.add(event, what[whose], **values)

    def handler(self, name: str, begins: Any) -> None:
        super().handler(name, begins)
        inner = self.names.get(name)
        if inner is None:
            return

        def handle(s: StateView, p: int, *rest: Any) -> Any:
            self.history.time, self.history.process = int(s.sim_moment), int(p)
            result = inner(s, p, *rest)
            self.history.look(s, int(p))
            return result

        self.names[name] = handle


def rows_of_run(run: Run, number: int = 0, watch: Any = lambda _: None, every: bool = True) -> Rows:
    """Play a run in the CPython world and record all its events.

    Args:
        run: the run.
        number: its number in its table.
        watch: called with the simulator before the run begins.
        every: also record events that no property uses (messages, timers, faults).

    Raises:
        SimulationError: a value would leave its range.
        TableError: majorities are not its quorums.
    """
    refuse_quorums(run.quorums)
    heard: list[Rows] = []

    def listened(cluster: Cluster, engine: str) -> Simulator:
        rows = Rows(number, run.nodes, command_line(run), observes(run.protocol))
        heard.append(rows)
        simulator = Simulator(cluster, engine)
        Recorder(simulator, rows, every)
        watch(simulator)
        return simulator

    play(run, "interpret", listened)
    return heard[-1]


def refuse_start(start: str) -> None:
    """Refuse a run that does not begin in the first state: events before its start are in no row.

    Raises:
        TableError: `start` is not empty.
    """
    if start:
        raise TableError(f"a table begins in the initial state, but this run begins in {start!r} (starts)")


def refuse_quorums(quorums: str) -> None:
    """Refuse quorums other than majorities, since no row records them and the rows would be checked against majorities.

    Raises:
        TableError: `quorums` is not empty.
    """
    if quorums:
        raise TableError(f"an event table is checked with majorities, not with the quorums {quorums}")
