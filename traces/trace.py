"""A trace: a schedule, and everything that happened when it was run in the CPython world.

The words of a schedule are enough to run it again; what they did is written down beside them, so
that a trace can be read, drawn and exported without running anything, and so that `verify` can
hold the one against the other. A trace ends where its property breaks; one without a property is
a witness or a plain run.

The file is JSON: a header, the initial state, and one object a step. A state has every field of
the schema but scratch, by name: axes as nested lists, records as objects, sets as sorted lists,
sequences as lists, messages as objects with their `kind` first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property, lru_cache
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any

from invariants.binding import bound
from invariants import PROPERTIES, Property, property_named
from invariants.registry import STEP
from zabspec.language import reference
from zabspec.language.kinds import Bool, Int, Kind, MessageUnion, Record, Seq, SetOf
from zabspec.language.reference import MessageView, RangeError, StateView
from zabspec.language.schema import Layout, Role
from zabspec.model import ConfigError, Configuration, Model
from zabspec.worlds import connections

__all__ = [
    "FORMAT",
    "VERSION",
    "Acceptance",
    "Delivery",
    "Establishment",
    "JsonState",
    "Runner",
    "Step",
    "StepWord",
    "Trace",
    "TraceError",
    "Transmission",
    "build_trace",
    "check_state",
    "read_trace",
    "state_json",
    "verify",
    "write_trace",
]

FORMAT = "zabcheck-trace"
VERSION = 1

JsonState = dict[str, Any]  # a state as JSON: field name -> value
JsonTxn = dict[str, int]  # a transaction: epoch, counter, value


class TraceError(Exception):
    """A trace cannot be read or written, or is not what the run gives: one sentence says why."""


# --- step words --------------------------------------------------------------------------------

# What the operands a, b, c of a step word are called, for each kind (see `connections`).
OPERANDS: dict[str, tuple[str, ...]] = {
    "oracle": ("process", "leader"),
    "to_leader": ("leader", "follower", "place"),
    "to_follower": ("follower", "leader", "place"),
    "leader_learns": ("leader", "follower"),
    "follower_learns": ("follower", "leader"),
    "abcast": ("process",),
    "timeout": ("process",),
    "crash": ("process",),
    "recover": ("process",),
    "lose_connection": ("follower", "leader"),
    "partition": ("side",),
    "drop_to_leader": ("leader", "follower", "place"),
    "drop_to_follower": ("follower", "leader", "place"),
    "repeat_to_leader": ("leader", "follower", "place"),
    "repeat_to_follower": ("follower", "leader", "place"),
    "crash_in_receipt": ("follower", "leader", "point"),
}
NUMBERS: dict[str, int] = {name: getattr(connections, name.upper()) for name in OPERANDS}
NAMES: dict[int, str] = {number: name for name, number in NUMBERS.items()}

# Whose message a step receives, or drops.
AT_LEADER = frozenset({"to_leader", "repeat_to_leader", "drop_to_leader"})
AT_FOLLOWER = frozenset({"to_follower", "repeat_to_follower", "drop_to_follower", "crash_in_receipt"})
DROPS = frozenset({"drop_to_leader", "drop_to_follower"})
REPEATS = frozenset({"repeat_to_leader", "repeat_to_follower"})
# The network's own steps: no process takes them.
OF_NETWORK = DROPS | {"lose_connection", "partition"}


@dataclass(frozen=True)
class StepWord:
    """A step word, taken apart: its kind, its operands by name, and the alternative chosen."""

    kind: str
    operands: Mapping[str, int]
    choice: int = 0

    @staticmethod
    def of(word: int) -> StepWord:
        """The parts of a word.

        Raises:
            TraceError: the word has a kind that there is not.
        """
        kind = NAMES.get((word >> 24) & 255)
        if kind is None:
            raise TraceError(f"{word:#x} is not a step: there is no kind {(word >> 24) & 255}")
        values = ((word >> 16) & 255, (word >> 8) & 255, word & 255)
        return StepWord(kind, dict(zip(OPERANDS[kind], values, strict=False)), (word >> 32) & 255)

    @property
    def word(self) -> int:
        a, b, c = (*self.operands.values(), 0, 0)[:3]
        return self.choice << 32 | NUMBERS[self.kind] << 24 | a << 16 | b << 8 | c

    @property
    def process(self) -> int | None:
        """The process that takes the step; None for the network."""
        return None if self.kind in OF_NETWORK else next(iter(self.operands.values()))


@lru_cache(maxsize=8)
def model_of(configuration: Configuration) -> Model:
    """The model of a configuration; reading a file and verifying it need the same one."""
    return Model(configuration)


# --- what happens in a step --------------------------------------------------------------------


@dataclass(frozen=True)
class Transmission:
    """A message on its way.

    Attributes:
        kind: its name (`ACK_E`).
        fields: what it carries, as JSON.
        source, destination: the processes.
        connection: which of the two processes' connections it belongs to, whoever opened it, the
            first being 1.
        number: its place among all that was sent over that connection in its direction, from 1 (a
            process that leads has two channels with itself, and each is counted by itself).
        lost: it was sent into a connection that is not open; then its number is 0.
    """

    kind: str
    fields: Mapping[str, Any]
    source: int
    destination: int
    connection: int
    number: int
    lost: bool = False


@dataclass(frozen=True)
class Delivery:
    """A process abdelivered a transaction."""

    process: int
    txn: JsonTxn


@dataclass(frozen=True)
class Acceptance:
    """A process accepted the proposal <epoch, txn> (f.2.1 or f.3.2)."""

    process: int
    epoch: int
    txn: JsonTxn


@dataclass(frozen=True)
class Establishment:
    """A process became the established leader of an epoch (V.1)."""

    process: int
    epoch: int
    initial_history: list[JsonTxn]


@dataclass(frozen=True)
class Step:
    """One step, what it did, and the state after it.

    Attributes:
        number: its place in the schedule, from 1.
        word: which step it is.
        label: the paper's steps it entered, or what else it is called.
        process: who took it; None for the network.
        message: what was received, or dropped.
        abcast: the transaction that was abcast.
        sent, delivered, accepted, established: in the order in which they happened.
        state: the state after it.
    """

    number: int
    word: StepWord
    label: str
    process: int | None
    message: Transmission | None
    abcast: JsonTxn | None
    sent: tuple[Transmission, ...]
    delivered: tuple[Delivery, ...]
    accepted: tuple[Acceptance, ...]
    established: tuple[Establishment, ...]
    state: JsonState

    def as_dict(self) -> dict[str, Any]:
        out = {f.name: getattr(self, f.name) for f in fields(self)}
        out["word"] = {"kind": self.word.kind, **self.word.operands, "choice": self.word.choice}
        out["message"] = None if self.message is None else asdict(self.message)
        for name in ("sent", "delivered", "accepted", "established"):
            out[name] = [asdict(x) for x in out[name]]
        return out


@dataclass(frozen=True)
class Trace:
    """A run of a configuration, from its initial state.

    Attributes:
        configuration: what was run.
        property_name: the property that the last step breaks; empty for any other run.
        statement, source: the paper's words for it, and where it says them.
        initial: the state before any step.
        steps: the steps, in order.
        tool: the version of zabcheck that wrote it.
    """

    configuration: Configuration
    property_name: str
    statement: str
    source: str
    initial: JsonState
    steps: tuple[Step, ...]
    tool: str

    @property
    def model(self) -> Model:
        return model_of(self.configuration)

    @property
    def words(self) -> tuple[int, ...]:
        """The schedule."""
        return tuple(step.word.word for step in self.steps)

    @property
    def states(self) -> list[JsonState]:
        """The states, the initial one first: state k is the one after step k."""
        return [self.initial, *(step.state for step in self.steps)]

    def as_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "tool": self.tool,
            "configuration": self.configuration.as_dict(),
            "property": self.property_name,
            "statement": self.statement,
            "source": self.source,
            "initial": self.initial,
            "steps": [step.as_dict() for step in self.steps],
        }


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
        out = [0] * (self._most_steps + 1)
        self.names["enabled"](self.state, out)
        return out[1 : out[0] + 1]

    @cached_property
    def _most_steps(self) -> int:
        """No step kind has more operands than three, each below the sizes they index."""
        n, (up, down) = self.model.configuration.nodes, self.model.channels
        return (1 << n) + n * (n + 4) + n * n * (3 * up + 3) + n * (3 * down + 3) + n * 256

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
                f"step {number}, word: {describe_word(parts)} takes alternative {parts.choice}, and there are {s.choices}"
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


# --- files -------------------------------------------------------------------------------------


def write_trace(trace: Trace, path: str | Path) -> None:
    """Write a trace as JSON, a line a step. The file appears whole or not at all.

    Raises:
        TraceError: it cannot be written.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "w", encoding="utf-8") as out:
            out.write(trace_text(trace))
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise TraceError(f"cannot write {target}: {error.strerror or error}") from error


def trace_text(trace: Trace) -> str:
    """The text of a trace's file."""
    content = trace.as_dict()
    steps = ",\n".join(json.dumps(step) for step in content.pop("steps"))
    head = "".join(f"{json.dumps(name)}: {json.dumps(value)},\n" for name, value in content.items())
    return "{\n" + head + '"steps": [\n' + steps + "\n]\n}\n"


def read_trace(path: str | Path) -> Trace:
    """Read a trace, and check that every field is there and of its kind. Whether the run is a
    true one is for `verify` to say.

    Raises:
        TraceError: it is no trace that this version can read.
    """
    source = Path(path)
    try:
        text = source.read_text(encoding="utf-8")
    except OSError as error:
        raise TraceError(f"cannot read {source}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{source} is not a trace: it is not UTF-8 text") from error
    try:
        content = json.loads(text)
    except RecursionError as error:
        raise TraceError(f"{source} is not a trace: it is nested too deeply") from error
    except ValueError as error:
        short = text.lstrip().startswith("{") and not text.rstrip().endswith("}")
        what = "is cut short" if short else "is not a trace: it is not JSON"
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise TraceError(f"{source} {what}{where}") from error
    try:
        return trace_of(content)
    except TraceError as error:
        raise TraceError(f"{source} {error}") from error


def trace_of(content: Any) -> Trace:
    """The trace that a file's JSON content stands for.

    Raises:
        TraceError: it is none; the sentence wants the file's name in front.
    """
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise TraceError(f"is not a trace: its format is not {FORMAT!r}")
    version = content.get("version")
    if type(version) is not int or version < 1:
        raise TraceError("is not a trace: its version is not a positive number")
    if version > VERSION:
        raise TraceError(f"has version {version}, newer than the {VERSION} that this zabcheck reads")
    bad = _Bad("")
    names = ("format", "version", "tool", "configuration", "property", "statement", "source", "initial", "steps")
    bad.keys(content, names)
    for name in ("tool", "property", "statement", "source"):
        bad.inside(name).type(content[name], str)
    name = content["property"]
    if name and name not in {p.name for p in PROPERTIES}:
        raise TraceError(f"names a property that there is not: {name!r}")
    configuration = _configuration(content["configuration"])
    program = model_of(configuration).program
    check_state(program.layout, content["initial"], "the initial state")
    bad.inside("steps").type(content["steps"], list)
    steps = tuple(_step(program.layout, raw, k + 1) for k, raw in enumerate(content["steps"]))
    return Trace(
        configuration, name, content["statement"], content["source"], content["initial"], steps, content["tool"]
    )


@dataclass(frozen=True)
class _Bad:
    """Complains about one place of a file."""

    place: str

    def inside(self, name: str) -> _Bad:
        return _Bad(f"{self.place}, {name}" if self.place else name)

    def error(self, problem: str) -> TraceError:
        return TraceError(f"is not a sound trace: {self.place or 'the file'} {problem}")

    def type(self, value: Any, kind: type) -> None:
        # bool is a subclass of int, and no number here is written as true
        if type(value) is not kind:
            names = {int: "a number", str: "a text", list: "a list", dict: "an object", bool: "true or false"}
            raise self.error(f"must be {names[kind]}")

    def number(self, value: Any, low: int, high: int) -> int:
        if type(value) is not int or not low <= value <= high:
            raise self.error(f"must be a number {low} to {high}, not {json.dumps(value)[:40]}")
        return value

    def keys(self, value: Any, names: Sequence[str]) -> None:
        self.type(value, dict)
        for name in names:
            if name not in value:
                raise self.error(f"lacks {name!r}")
        for name in value:
            if name not in names:
                raise self.error(f"has an unknown {name!r}")


def _configuration(raw: Any) -> Configuration:
    bad = _Bad("configuration")
    default = Configuration().as_dict()
    bad.keys(raw, tuple(default))
    for name, value in default.items():
        bad.inside(name).type(raw[name], type(value))
    try:
        return Configuration(**raw)
    except ConfigError as error:
        raise TraceError(f"asks for a configuration that there is not: {error}") from error


def check_state(layout: Layout, raw: Any, place: str) -> None:
    """Check a state as JSON against the schema.

    Raises:
        TraceError: a field is missing, unknown or not of its kind.
    """
    bad = _Bad(place)
    kept = [f for f in layout.schema.fields if f.role is not Role.SCRATCH]
    bad.keys(raw, [f.name for f in kept])
    for f in kept:
        _check_axes(f.kind, raw[f.name], layout.axis_sizes(f), bad.inside(f.name))


def _check_axes(kind: Kind, raw: Any, sizes: tuple[int, ...], bad: _Bad) -> None:
    if not sizes:
        _check_value(kind, raw, bad)
        return
    bad.type(raw, list)
    if len(raw) != sizes[0]:
        raise bad.error(f"must have {sizes[0]} entries, not {len(raw)}")
    for k, value in enumerate(raw):
        _check_axes(kind, value, sizes[1:], _Bad(f"{bad.place}[{k}]"))


def _check_value(kind: Kind, raw: Any, bad: _Bad) -> None:
    if isinstance(kind, Bool):
        bad.type(raw, bool)
    elif isinstance(kind, Int):
        bad.number(raw, kind.lo, kind.hi)
    elif isinstance(kind, Record):
        bad.keys(raw, tuple(kind.fields))
        for name, inner in kind.fields.items():
            _check_value(inner, raw[name], _Bad(f"{bad.place}.{name}"))
    elif isinstance(kind, SetOf):
        bad.type(raw, list)
        for member in raw:
            bad.number(member, 0, kind.count - 1)
        if raw != sorted(set(raw)):
            raise bad.error("must list the members of a set in order, each once")
    elif isinstance(kind, Seq):
        bad.type(raw, list)
        if len(raw) > kind.capacity:
            raise bad.error(f"must have at most {kind.capacity} entries")
        for k, value in enumerate(raw):
            _check_value(kind.element, value, _Bad(f"{bad.place}[{k}]"))
    else:
        assert isinstance(kind, MessageUnion)
        bad.type(raw, dict)
        _check_message(kind, raw.get("kind"), {k: v for k, v in raw.items() if k != "kind"}, bad)


def _check_message(union: MessageUnion, name: Any, carried: Any, bad: _Bad) -> None:
    known = {m.name: m for m in union.messages}
    if not isinstance(name, str) or name not in known:
        raise bad.error("must name the kind of a message")
    bad.keys(carried, tuple(known[name].fields))
    for field, kind in known[name].fields.items():
        _check_value(kind, carried[field], _Bad(f"{bad.place}.{field}"))


class _Reader:
    """Reads the parts of one step."""

    def __init__(self, layout: Layout) -> None:
        self.nodes = layout.schema.nodes
        self.epochs = layout.schema.constants["EPOCHS"]
        txn = layout.fields["abcast_txn"].kind
        log = layout.fields["delivered"].kind
        channel = layout.fields["to_follower"].kind
        assert isinstance(channel, Seq) and isinstance(channel.element, MessageUnion)
        self.txn, self.log, self.union = txn, log, channel.element

    def word(self, raw: Any, bad: _Bad) -> StepWord:
        bad.type(raw, dict)
        kind = raw.get("kind")
        if not isinstance(kind, str) or kind not in OPERANDS:
            raise bad.error("must name a kind of step")
        bad.keys(raw, ("kind", *OPERANDS[kind], "choice"))
        for name in (*OPERANDS[kind], "choice"):
            bad.inside(name).number(raw[name], 0, 255)
        return StepWord(kind, {name: raw[name] for name in OPERANDS[kind]}, raw["choice"])

    def process(self, raw: Any, bad: _Bad) -> int:
        return bad.number(raw, 0, self.nodes - 1)

    def transmission(self, raw: Any, bad: _Bad) -> Transmission:
        bad.keys(raw, tuple(f.name for f in fields(Transmission)))
        _check_message(self.union, raw["kind"], raw["fields"], bad)
        for name in ("source", "destination"):
            self.process(raw[name], bad.inside(name))
        for name in ("connection", "number"):
            bad.inside(name).number(raw[name], 0, 1 << 31)
        bad.inside("lost").type(raw["lost"], bool)
        return Transmission(**raw)

    def delivery(self, raw: Any, bad: _Bad) -> Delivery:
        bad.keys(raw, ("process", "txn"))
        _check_value(self.txn, raw["txn"], bad.inside("txn"))
        return Delivery(self.process(raw["process"], bad), raw["txn"])

    def acceptance(self, raw: Any, bad: _Bad) -> Acceptance:
        bad.keys(raw, ("process", "epoch", "txn"))
        _check_value(self.txn, raw["txn"], bad.inside("txn"))
        epoch = bad.inside("epoch").number(raw["epoch"], 0, self.epochs)
        return Acceptance(self.process(raw["process"], bad), epoch, raw["txn"])

    def establishment(self, raw: Any, bad: _Bad) -> Establishment:
        bad.keys(raw, ("process", "epoch", "initial_history"))
        _check_value(self.log, raw["initial_history"], bad.inside("initial_history"))
        epoch = bad.inside("epoch").number(raw["epoch"], 0, self.epochs)
        return Establishment(self.process(raw["process"], bad), epoch, raw["initial_history"])


def _step(layout: Layout, raw: Any, number: int) -> Step:
    bad = _Bad(f"step {number}")
    bad.keys(raw, tuple(f.name for f in fields(Step)))
    reader = _Reader(layout)
    bad.inside("number").number(raw["number"], number, number)
    bad.inside("label").type(raw["label"], str)
    if raw["process"] is not None:
        reader.process(raw["process"], bad.inside("process"))
    if raw["abcast"] is not None:
        _check_value(reader.txn, raw["abcast"], bad.inside("abcast"))
    for name in ("sent", "delivered", "accepted", "established"):
        bad.inside(name).type(raw[name], list)
    message = raw["message"]
    word = reader.word(raw["word"], bad.inside("word"))
    check_state(layout, raw["state"], f"step {number}, state")
    return Step(
        number,
        word,
        raw["label"],
        raw["process"],
        None if message is None else reader.transmission(message, bad.inside("message")),
        raw["abcast"],
        tuple(reader.transmission(x, bad.inside("sent")) for x in raw["sent"]),
        tuple(reader.delivery(x, bad.inside("delivered")) for x in raw["delivered"]),
        tuple(reader.acceptance(x, bad.inside("accepted")) for x in raw["accepted"]),
        tuple(reader.establishment(x, bad.inside("established")) for x in raw["established"]),
        raw["state"],
    )


# --- holding a trace against the run -----------------------------------------------------------


def verify(trace: Trace) -> None:
    """Run the schedule again and compare everything; check that the property breaks at the last
    step and not before.

    Raises:
        TraceError: the first difference, by step and field.
    """
    prop: Property | None = None
    if trace.property_name:
        try:
            prop = property_named(trace.property_name, PROPERTIES)
        except KeyError as error:
            raise TraceError(f"there is no property {trace.property_name!r}") from error
    expected = ("", "") if prop is None else (prop.statement, prop.source)
    for name, said, true in zip(("statement", "source"), (trace.statement, trace.source), expected, strict=True):
        if said != true:
            raise TraceError(f"header, {name}: the trace says {said!r}, the property {true!r}")
    runner = Runner(trace.model)
    _compare("initial state", trace.initial, state_json(runner.state))
    last = len(trace.steps)
    _judge(runner, prop, last)
    for step in trace.steps:
        again = runner.step(step.word.word)
        _compare(f"step {again.number}", step.as_dict(), again.as_dict())
        _judge(runner, prop, last)


def _judge(runner: Runner, prop: Property | None, last: int) -> None:
    if prop is None:
        return
    try:
        kept = runner.keeps(prop)
    except RangeError as error:
        raise TraceError(f"step {runner.taken}: {prop.name} cannot be judged, as {error}") from error
    if kept and runner.taken == last:
        raise TraceError(f"step {last}, property: the last step does not break {prop.name}")
    if not kept and runner.taken < last:
        raise TraceError(f"step {runner.taken}, property: {prop.name} breaks here, before the last step ({last})")


def _compare(place: str, said: Mapping[str, Any], true: Mapping[str, Any]) -> None:
    """Complain about the first difference between what a trace says and what the run gives."""
    found = _difference(said, true, "")
    if found is not None:
        path, a, b = found
        raise TraceError(f"{place}, {path}: the trace says {json.dumps(a)}, the run gives {json.dumps(b)}")


def _difference(a: Any, b: Any, path: str) -> tuple[str, Any, Any] | None:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for name in (*b, *(k for k in a if k not in b)):
            inner = f"{path}.{name}" if path else str(name)
            if name not in a or name not in b:
                return inner, a.get(name), b.get(name)
            found = _difference(a[name], b[name], inner)
            if found is not None:
                return found
        return None
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            found = _difference(x, y, f"{path}[{k}]")
            if found is not None:
                return found
        return None
    # true equals 1 in Python, and is not the same in a file
    return None if type(a) is type(b) and a == b else (path, a, b)
