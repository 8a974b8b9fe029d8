"""Define traces: a schedule, and everything that happened when it was run in the explorer's world.

The step words of a schedule are enough to run it again. Their effects are recorded too, so that a trace can be read,
drawn and exported without running anything, and so that `verify` can compare both. A trace ends where its property is
violated; one without a property is a witness or a plain run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from types import ModuleType
from typing import Any

from traces.record.failure import Failure
from traces.record.lasso import Lasso
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.worlds.steps import KINDS, NUMBERED, StepKind

FORMAT = "zabcheck-trace"
VERSION = 1

JsonState = dict[str, Any]  # a state as JSON: field name -> value
JsonTxn = dict[str, int]  # a transaction: epoch, counter, value


class TraceError(Exception):
    """A trace cannot be read or written, or differs from its run; the message says why in one sentence."""


# --- step words --------------------------------------------------------------------------------


@dataclass(frozen=True)
class StepWord:
    """A step word in parts: its kind, its operands by name, and the chosen alternative."""

    kind: str
    operands: Mapping[str, int]
    choice: int = 0

    @staticmethod
    def of(word: int) -> StepWord:
        """Return the parts of a word.

        Raises:
            TraceError: there is no such kind of step.
        """
        found = NUMBERED.get((word >> 24) & 255)
        if found is None:
            raise TraceError(f"{word:#x} is not a step: there is no kind {(word >> 24) & 255}")
        values = ((word >> 16) & 255, (word >> 8) & 255, word & 255)
        operands = {name: v for name, v in zip(found.operands, values, strict=False) if name}
        return StepWord(found.name, operands, (word >> 32) & 255)

    @property
    def row(self) -> StepKind:
        """Return the table row of the step's kind."""
        return KINDS[self.kind]

    @property
    def word(self) -> int:
        a, b, c = (*(self.operands.get(name, 0) for name in self.row.operands), 0, 0)[:3]
        return self.choice << 32 | self.row.number << 24 | a << 16 | b << 8 | c

    @property
    def base(self) -> StepWord:
        """Return the step that this one breaks off; for any other step, the step itself."""
        o = self.operands
        if self.row.inside:
            row = KINDS[self.row.inside]
            return StepWord(row.name, {name: o[name] for name in row.names}, self.choice)
        if "inside" not in o or o["inside"] not in NUMBERED:
            return self
        row = NUMBERED[o["inside"]]
        return StepWord(row.name, row.of_broken(o["process"], o["which"]), self.choice)

    @property
    def process(self) -> int | None:
        """Return the process that takes the step, or None."""
        return None if self.row.by else next(iter(self.operands.values()))


def text_of(protocol: str) -> str:
    """Return the digest of a protocol's source; empty for one that changes only with releases of zabcheck."""
    return PROTOCOLS[protocol].text.digest


def model_of(configuration: Configuration) -> Model:
    """Return the model of a configuration, cached, since reading a file and verifying it need the same one."""
    return _model(configuration, PROTOCOLS[configuration.protocol].text.module)


@lru_cache(maxsize=8)
def _model(configuration: Configuration, source: ModuleType) -> Model:
    """Return the model of a configuration, cached by its source as this request has read it."""
    return Model(configuration)


# --- what happens in a step --------------------------------------------------------------------


@dataclass(frozen=True)
class Transmission:
    """A message in flight.

    Attributes:
        kind: its name (`ACK_E`).
        fields: its other fields, as JSON.
        source, destination: the processes.
        connection: the number of the connection among those between the two processes, whoever opened it, from 1; 0 for
            a datagram.
        number: its place among all that was sent over that connection in its direction, from 1 (a process that leads
            has two channels with itself, each counted by itself); for a datagram, its place among all that was sent
            from its source to its destination.
        lost: whether it was sent into a connection that is not open; then its number is 0.
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
class Observation:
    """An observation by the protocol: what a process showed the outside.

    Attributes:
        name: the name of the observation.
        process: who showed it; None if it is of no process.
        fields: its other fields, as JSON.
    """

    name: str
    process: int | None
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Step:
    """One step, what it did, and the state after it.

    Attributes:
        number: its place in the schedule, from 1.
        word: the step word, in parts.
        label: the paper's steps that it entered, or what else it is called.
        process: who took it; None if no process did.
        message: the message that was received, or dropped.
        abcast: the transaction that was abcast.
        sent, delivered, accepted, established, observed: the events in it, in the order in which they happened.
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
    observed: tuple[Observation, ...]
    state: JsonState

    def as_dict(self) -> dict[str, Any]:
        out = {f.name: getattr(self, f.name) for f in fields(self)}
        out["word"] = {"kind": self.word.kind, **self.word.operands, "choice": self.word.choice}
        out["message"] = None if self.message is None else asdict(self.message)
        for name in ("sent", "delivered", "accepted", "established", "observed"):
            out[name] = [asdict(x) for x in out[name]]
        return out


# How a notebook shows a trace: drawing modules add a function, since pictures depend on traces and not the other way
# round.
DRAWN: list[Callable[[Trace], str]] = []


@dataclass(frozen=True, repr=False)
class Trace:
    """A run of a configuration, from its initial state.

    Attributes:
        configuration: what was run.
        property_name: the property that the last step breaks; empty for any other run.
        statement, source: the property in the paper's words, and where the paper states it.
        initial: the state before any step.
        steps: the steps, in order.
        tool: the version of zabcheck that wrote it.
        lasso: the process that starves in it, and from when on; None if the trace claims no starvation.
        failure: the run-time error in which it ends; None if it ends in none. A step that meets one changes nothing:
            the state after it is the one before it.
        request: the request that it answers, as JSON (`checker/requests/base/kinds.py`); None if not known. It is no
            part of the run.
        premise_of: the property whose premise the last step is the first to meet; empty if the trace names none. The
            statement and the source are then of this property.
    """

    configuration: Configuration
    property_name: str
    statement: str
    source: str
    initial: JsonState
    steps: tuple[Step, ...]
    tool: str
    lasso: Lasso | None = None
    failure: Failure | None = None
    request: Mapping[str, Any] | None = field(default=None, compare=False)
    premise_of: str = ""

    def __repr__(self) -> str:
        """Return one line: what the run shows, after how many steps, and of which protocol."""
        c, count = self.configuration, len(self.steps)
        steps = "1 step" if count == 1 else f"{count} steps"
        said = f"a run of {steps}"
        if self.lasso is not None:
            said = f"{self.lasso.progress_property} is not reached, {steps}"
        elif self.property_name:
            said = f"{self.property_name} is violated after {steps}"
        elif self.premise_of:
            said = f"the premise of {self.premise_of} is first reached after {steps}"
        return f"<Trace: {said}; {c.protocol}{f' with {c.variant}' if c.variant else ''}, {c.nodes} processes>"

    def _repr_html_(self) -> str | None:
        """Return the picture for a notebook; None if no drawing code is loaded, so that the text form is shown."""
        return DRAWN[-1](self) if DRAWN else None

    @property
    def model(self) -> Model:
        return model_of(self.configuration)

    @property
    def schedule(self) -> tuple[int, ...]:
        """Return the schedule as step words."""
        return tuple(step.word.word for step in self.steps)

    @property
    def states(self) -> list[JsonState]:
        """Return the states, the initial one first: state k is the one after step k."""
        return [self.initial, *(step.state for step in self.steps)]

    def as_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "tool": self.tool,
            "text": text_of(self.configuration.protocol),
            "configuration": self.configuration.as_dict(),
            "property": self.property_name,
            "statement": self.statement,
            "source": self.source,
            **({} if self.lasso is None else {"lasso": self.lasso.as_dict()}),
            **({} if self.failure is None else {"error": self.failure.as_dict()}),
            **({"premise_of": self.premise_of} if self.premise_of else {}),
            **({} if self.request is None else {"request": dict(self.request)}),
            "initial": self.initial,
            "steps": [step.as_dict() for step in self.steps],
        }
