"""Running a schedule in the CPython world, and writing down what happened.

A state is written with every field of the schema but scratch, by name: axes as nested lists,
records as objects, sets as sorted lists, sequences as lists, messages as objects with their `kind`
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version as package_version
from typing import Any

from invariants import Property
from invariants.binding import bound
from invariants.registry import STEP
from traces.names import counted
from traces.trace import (
    AT_FOLLOWER,
    AT_LEADER,
    NUMBERS,
    REPEATS,
    Acceptance,
    Delivery,
    Establishment,
    JsonState,
    JsonTxn,
    Step,
    StepWord,
    Trace,
    TraceError,
    Transmission,
)
from zabspec.language.kinds import Bool, Int, Kind, Record, Seq, SetOf
from zabspec.language.reference import MessageView, RangeError, StateView
from zabspec.language.schema import Role
from zabspec.model import Model
from zabspec.worlds import connections

__all__ = ["Runner", "build_trace", "state_json"]

# --- values as JSON ----------------------------------------------------------------------------


def value_json(kind: Kind, value: Any) -> Any:
    """A value of the CPython world as JSON."""
    if isinstance(kind, Bool):
        return bool(value)
    if isinstance(kind, Int):
        return int(value)
    if isinstance(kind, Record):
        return kind.unpack(value.word)
    if isinstance(kind, SetOf):
        return list(value)
    if isinstance(kind, Seq):
        return [value_json(kind.element, v) for v in value]
    assert isinstance(value, MessageView)
    return {"kind": value.name, **message_fields(value)}


def message_fields(m: MessageView) -> dict[str, Any]:
    """What a message carries, as JSON."""
    return {name: value_json(kind, getattr(m, name)) for name, kind in m.union.named(m.name).fields.items()}


def state_json(s: StateView) -> JsonState:
    """Every field of a state but scratch, as JSON."""
    layout = s.layout
    out: JsonState = {}
    for f in layout.schema.fields:
        if f.role is not Role.SCRATCH:
            out[f.name] = _axes_json(f.kind, getattr(s, f.name), len(f.axes))
    return out


def _axes_json(kind: Kind, value: Any, axes: int) -> Any:
    if axes:
        return [_axes_json(kind, v, axes - 1) for v in value]
    return value_json(kind, value)


# --- running a schedule ------------------------------------------------------------------------


class Runner:
    """A run in the CPython world that notes what each step does.

    The notes come from the calls that handlers make of their world (`send_to_leader`, `accept`,
    `abdeliver`, ...), so they also tell what leaves no mark on the state, as a redelivery or a
    message sent into a lost connection.
    """

    def __init__(self, model: Model) -> None:
        program = model.program
        self.model = model
        self.layout = program.layout
        self.names: dict[str, Any] = bound(model)
        self.state = StateView(self.layout)
        self.names["initialize"](self.state)
        self.before = self.state.copy()
        self.taken = 0
        self._opened: dict[frozenset[int], int] = {}  # connections between two processes so far
        self._incarnation: dict[tuple[int, int], int] = {}  # the latest of a follower to a leader
        self._count: dict[tuple[int, int, str], int] = {}  # sent over the open connection so far
        self._queue: dict[tuple[int, int, str], list[int]] = {}  # the numbers of what is in flight
        self._clear_notes()
        self._listen()

    def _clear_notes(self) -> None:
        self._sent: list[Transmission] = []
        self._delivered: list[Delivery] = []
        self._accepted: list[Acceptance] = []
        self._established: list[Establishment] = []
        self._abcast: JsonTxn | None = None

    def _listen(self) -> None:
        """Note every call of the world that a handler makes."""
        names = self.names
        connect, send_up, send_down = (names[k] for k in ("connect", "send_to_leader", "send_to_follower"))
        abcast, abdeliver, accept, establish = (names[k] for k in ("abcast", "abdeliver", "accept", "establish"))
        txn = self.model.txn

        def on_connect(s: StateView, f: int, l: int) -> None:
            connect(s, f, l)
            pair = frozenset((f, l))
            self._incarnation[f, l] = self._opened[pair] = self._opened.get(pair, 0) + 1
            for way in ("up", "down"):
                self._count[f, l, way] = 0
                self._queue[f, l, way] = []

        def on_send_up(s: StateView, f: int, m: MessageView) -> None:
            l = s.leader[f]
            length = len(s.to_leader[f][l])
            send_up(s, f, m)
            self._note_sent(f, l, "up", m, len(s.to_leader[f][l]) > length)

        def on_send_down(s: StateView, l: int, f: int, m: MessageView) -> None:
            length = len(s.to_follower[f])
            send_down(s, l, f, m)
            self._note_sent(f, l, "down", m, len(s.to_follower[f]) > length)

        def on_abcast(s: StateView, p: int, epoch: int, counter: int) -> Any:
            t = abcast(s, p, epoch, counter)
            self._abcast = txn.unpack(t.word)
            return t

        def on_abdeliver(s: StateView, p: int, t: Any) -> None:
            abdeliver(s, p, t)
            self._delivered.append(Delivery(p, txn.unpack(t.word)))

        def on_accept(s: StateView, p: int, epoch: int, t: Any) -> None:
            accept(s, p, epoch, t)
            self._accepted.append(Acceptance(p, int(epoch), txn.unpack(t.word)))

        def on_establish(s: StateView, epoch: int, initial: Any) -> None:
            establish(s, epoch, initial)
            history = [txn.unpack(t.word) for t in initial]
            self._established.append(Establishment(s.event_process, int(epoch), history))

        names.update(
            connect=on_connect,
            send_to_leader=on_send_up,
            send_to_follower=on_send_down,
            abcast=on_abcast,
            abdeliver=on_abdeliver,
            accept=on_accept,
            establish=on_establish,
        )

    def _note_sent(self, f: int, l: int, way: str, m: MessageView, in_flight: bool) -> None:
        number = 0
        if in_flight:
            number = self._count[f, l, way] = self._count[f, l, way] + 1
            self._queue[f, l, way].append(number)
        source, destination = (f, l) if way == "up" else (l, f)
        connection = self._incarnation.get((f, l), 0)
        sent = Transmission(m.name, message_fields(m), source, destination, connection, number, not in_flight)
        self._sent.append(sent)

    def _take_out(self, word: StepWord) -> Transmission | None:
        """The message that the step is about; its number leaves the queue unless a copy stays."""
        if word.kind not in AT_LEADER | AT_FOLLOWER:
            return None
        f, l, place = word.operands["follower"], word.operands["leader"], word.operands.get("place", 0)
        if word.kind in AT_LEADER:
            way, m, source, destination = "up", self.before.to_leader[f][l][place], f, l
        else:
            way, m, source, destination = "down", self.before.to_follower[f][place], l, f
        queue = self._queue[f, l, way]
        number = queue[place] if word.kind in REPEATS else queue.pop(place)
        return Transmission(m.name, message_fields(m), source, destination, self._incarnation[f, l], number)

    def _forget_lost(self) -> None:
        """Whatever a step clears out of a channel, it clears from the front."""
        s = self.state
        for (f, l, way), queue in self._queue.items():
            left = len(s.to_leader[f][l]) if way == "up" else len(s.to_follower[f]) if s.leader[f] == l else 0
            del queue[: len(queue) - left]

    def possible(self) -> list[int]:
        """The steps possible now, without their choices."""
        out = [0] * (self.model.most_steps + 1)
        self.names["enabled"](self.state, out)
        return out[1 : out[0] + 1]

    def step(self, word: int) -> Step:
        """Take a step.

        Raises:
            TraceError: the step is not possible here, or a value would leave its range.
        """
        number = self.taken + 1
        parts = StepWord.of(word)
        if word >> 40 or parts.word & 0xFFFFFFFF not in self.possible():
            raise TraceError(f"step {number}, word: {describe_word(parts)} is not possible there")
        self._clear_notes()
        self.before = self.state.copy()
        message = self._take_out(parts)
        try:
            self.names["apply"](self.state, word)
        except RangeError as error:
            raise TraceError(f"step {number}, word: {describe_word(parts)} fails, as {error}") from error
        s = self.state
        if parts.choice >= max(1, s.choices):
            raise TraceError(
                f"step {number}, word: {describe_word(parts)} takes alternative {parts.choice}, "
                f"and has {counted(s.choices, 'alternative')}"
            )
        self._forget_lost()
        self.taken = number
        return Step(
            number,
            parts,
            self._label(parts),
            parts.process,
            message,
            self._abcast,
            tuple(self._sent),
            tuple(self._delivered),
            tuple(self._accepted),
            tuple(self._established),
            state_json(s),
        )

    def _label(self, word: StepWord) -> str:
        entered = [name for k, name in enumerate(self.model.program.steps) if self.state.steps >> k & 1]
        if entered and word.kind in ("to_leader", "to_follower"):
            return ", ".join(entered)
        return ", ".join([connections.STEP_KINDS[NUMBERS[word.kind]], *entered])

    def keeps(self, p: Property) -> bool:
        """Whether the state, or the step just taken, keeps a property."""
        holds = self.names[p.holds.__name__]
        if p.of == STEP:
            return self.taken == 0 or bool(holds(self.before, self.state, self.state))
        return bool(holds(self.state))


def describe_word(word: StepWord) -> str:
    """A step word in one phrase, its operands named."""
    return f"{word.kind}({', '.join(f'{k}={v}' for k, v in word.operands.items())})"


def build_trace(model: Model, prop: Property | None, words: Sequence[int]) -> Trace:
    """Run a schedule from the initial state and note what happens.

    Args:
        model: what to run.
        prop: the property that its last step is said to break (`verify` checks that it does);
            None for any other run.
        words: the steps, each with its choice.

    Raises:
        TraceError: a step is not possible where it stands.
    """
    runner = Runner(model)
    initial = state_json(runner.state)
    steps = tuple(runner.step(word) for word in words)
    name, statement, source = ("", "", "") if prop is None else (prop.name, prop.statement, prop.source)
    return Trace(model.configuration, name, statement, source, initial, steps, package_version("zabcheck"))
