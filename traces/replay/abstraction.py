"""Map a state of the simulator to the explorer's schema.

Fields of processes and of the observed history are the same in both and are copied. The simulator does not have the
explorer's network and budgets; they are reconstructed:

- `link` from the ends of a connection: which of them are open, and whether it is cut;
- `to_leader`, `to_follower` from the heap: the messages in transit over the current connection to an open end, in the
  order of their numbers; on a stale network also those of earlier connections (`stale`: to a closed end);
- `in_flight` from the heap: all of it;
- the rest of a budget: the configuration's amount, less what was spent.

Nothing here decides what may happen next, or what a step does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from traces.record.trace import JsonState
from traces.record.values import field_writer, in_order, writer
from zabspec.language.layout.kinds import MessageUnion
from zabspec.language.layout.schema import Role
from zabspec.language.python.reference import MessageView, StateView
from zabspec.model import Model
from zabspec.simulator.connections import DOWN_WAY, LOSSY, UP, outlasts
from zabspec.simulator.mail import SEQ_AT, SEQ_BITS, slot_of
from zabspec.simulator.model import Cluster
from zabspec.worlds.connections import FOLLOWER_OPEN, LEADER_OPEN, LOST, NONE, OPEN
from zabspec.worlds.datagrams import ANY_ORDER

Datagram = tuple[int, dict[str, Any]]  # its number, and what it says with its source and target


@dataclass(frozen=True)
class TraceCluster(Cluster):
    """A cluster with the sizes of a configuration, in which its traces are replayed.

    Attributes:
        log_room: the number of transactions that a history has room for.
        keeps_literal: whether the configuration asks for the fields of the literal invariant 5.
        keeps_passes: the number of passes of a process that it keeps.
        due_room: the number of proposals on the schedule that there is room for, if that is more than can be abcast.
    """

    log_room: int = 0
    keeps_literal: bool = False
    due_room: int = 0
    keeps_passes: int = 0

    @property
    def due(self) -> int:
        return max(self.due_room, self.proposals)

    @property
    def log(self) -> int:
        return self.log_room

    @property
    def literal(self) -> bool:
        return self.keeps_literal

    @property
    def given_up(self) -> int:
        return self.keeps_passes

    @cached_property
    def slots(self) -> int:
        """Return the number of message slots; mail that can never arrive stays in the heap and occupies one."""
        return 2048

    @staticmethod
    def of(model: Model, oracle: str = "", due: int = 0) -> TraceCluster:
        """Return the cluster in which the traces of a model are replayed.

        Args:
            oracle: the process that the leader oracle names where no script does.
            due: the number of scheduled proposals, if larger than the model's.
        """
        c = model.configuration
        log = max(2 * c.txns, c.txns + c.duplicates)
        budgets = tuple(c.budget.items()) if model.protocol.takes_amounts or model.fails else ()
        text = model.protocol.text.digest
        return TraceCluster(
            c.protocol, c.variant, c.nodes, c.txns, True, model.epochs, oracle, budgets, text, c.start, c.quorums,
            log, c.literal, due, c.given_up,
        )  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """An entry of the simulator's heap of messages.

    Attributes:
        place: its place in the heap.
        seq: the number under which it was sent.
        slot: the slot with the message.
        message: the message.
    """

    place: int
    seq: int
    slot: int
    message: MessageView


def entries(s: StateView) -> Iterator[Entry]:
    """Yield the entries of the heap, in no particular order."""
    for place in range(s.sim_queued):
        word = s.sim_queue[place]
        slot = slot_of(word)
        yield Entry(place, word >> SEQ_AT & ((1 << SEQ_BITS) - 1), slot, s.sim_flight[slot])


class Abstraction:
    """Maps states of the simulator to the schema of a model."""

    def __init__(self, model: Model, stage: Cluster) -> None:
        self.model = model
        self.configuration = model.configuration
        self.nodes = range(model.configuration.nodes)
        self.layout = model.program.layout
        own = stage.program.layout
        message = own.fields["sim_no_message"].kind
        assert isinstance(message, MessageUnion)
        self.envelope = message.envelope
        self.written = writer(message, "sim_no_message")
        # fields that are as large here as there need not be cut
        here = {name: own.axis_sizes(f) for name, f in own.fields.items()}
        self.same = {name for name, f in self.layout.fields.items() if here.get(name) == self.layout.axis_sizes(f)}

    # --- what is on its way ----------------------------------------------------------------------

    def over(self, s: StateView, f: int, l: int, way: int) -> list[Entry]:
        """Return the messages in transit over the connection of f to l in one direction, in the order of their numbers.

        On a lossy channel, messages that a received one passed over are lost.

        Args:
            way: the direction, `UP` or `DOWN_WAY`.
        """
        return self.over_all(s, way).get((f, l), [])

    def over_all(self, s: StateView, way: int) -> dict[tuple[int, int], list[Entry]]:
        """Return the messages in transit by connection (follower, leader), for connections that have any."""
        ends, numbers = (s.leader_end if way == UP else s.follower_end), s.connection
        found: dict[
            tuple[int, int], dict[int, Entry]
        ] = {}  # copies of a message are one, of which the first arrives first
        for entry in sorted(entries(s), key=lambda e: -e.seq):
            m = entry.message
            if m.way != way:
                continue
            f, l = m.follower, m.leader
            here = ends[f][l] and m.connection == numbers[f][l]
            if (here or outlasts(s, f, l, way)) and self.arrives(s, m):
                found.setdefault((f, l), {})[m.number] = entry
        return {pair: [out[number] for number in sorted(out)] for pair, out in found.items()}

    def arrives(self, s: StateView, m: MessageView) -> bool:
        """Return whether a message in transit over a connection may still be received."""
        taken = s.taken_up if m.way == UP else s.taken_down
        return s.sim_order != LOSSY or bool(m.number > taken[m.follower][m.leader])

    def bag(self, s: StateView) -> list[Entry]:
        """Return the datagrams in transit, in the order of sending."""
        return sorted(entries(s), key=lambda e: e.seq)

    # --- the state -------------------------------------------------------------------------------

    def state(self, s: StateView, spent: Mapping[str, int]) -> JsonState:
        """Map a state of the simulator to the explorer's schema.

        Args:
            s: the simulator's state.
            spent: the amount of each budget that the run has used.

        Raises:
            ValueError: the state does not fit the explorer's ranges.
        """
        out: JsonState = {}
        for f in self.layout.schema.fields:
            if f.role is Role.NETWORK:
                out[f.name] = self.network(s, f.name)
            elif f.name.endswith("_left") and f.role is Role.BUDGET:
                budget = f.name.removesuffix("_left")
                out[f.name] = self.configuration.budget[budget] - spent.get(budget, 0)
            elif f.role is not Role.SCRATCH:
                whole = field_writer(s.layout, f.name)(s.buffer)
                out[f.name] = whole if f.name in self.same else fitted(f.name, whole, self.layout.axis_sizes(f))
        return out

    def network(self, s: StateView, name: str) -> Any:
        """Return a field of the explorer's network, by name."""
        if name == "link":
            return [[self.link(s, f, l) for l in self.nodes] for f in self.nodes]
        if name == "to_leader":
            sent = self.over_all(s, UP)
            return [[self.texts(sent.get((f, l), [])) for l in self.nodes] for f in self.nodes]
        if name in ("to_follower", "stale"):
            old = name == "stale"
            sent = {
                pair: out for pair, out in self.over_all(s, DOWN_WAY).items() if old != s.follower_end[pair[0]][pair[1]]
            }
            by_pair = [[self.texts(sent.get((f, l), [])) for l in self.nodes] for f in self.nodes]
            return by_pair if old else [[m for sent_by in row for m in sent_by] for row in by_pair]
        if name == "in_line":
            pairs = Counter((m["source"], m["target"]) for m in self.datagrams(s))
            return [[pairs[p, q] for q in self.nodes] for p in self.nodes]
        assert name == "in_flight"
        return in_order(self.datagrams(s))

    @staticmethod
    def link(s: StateView, f: int, l: int) -> int:
        """Return the state of a connection, by which of its ends are open and whether it is cut."""
        if s.follower_end[f][l] and s.leader_end[f][l]:
            return LOST if s.cut[f][l] else OPEN
        if s.follower_end[f][l]:
            return FOLLOWER_OPEN
        return LEADER_OPEN if s.leader_end[f][l] else NONE

    def texts(self, sent: list[Entry]) -> list[dict[str, Any]]:
        """Return messages without the simulator's bookkeeping fields."""
        return [{k: v for k, v in self.message(e).items() if k not in self.envelope} for e in sent]

    def message(self, entry: Entry) -> dict[str, Any]:
        """Return a message with the simulator's bookkeeping fields."""
        m: dict[str, Any] = self.written(entry.message.buffer, entry.message.at)
        return m

    def datagrams_of(self, s: StateView) -> list[Datagram]:
        """Return the datagrams in transit; those of one source and target are in the order of sending."""
        return [(e.seq, self.message(e)) for e in self.bag(s)]

    def datagrams(self, s: StateView) -> list[dict[str, Any]]:
        """Return the datagrams in transit with the explorer's bookkeeping fields."""
        ordered = s.sim_order != ANY_ORDER
        ahead: dict[tuple[int, int], int] = {}
        out = []
        for _, whole in self.datagrams_of(s):
            m = dict(whole)
            pair = (m["source"], m["target"])
            kind, rest = m.pop("kind"), {k: v for k, v in m.items() if k not in self.envelope}
            written = {"source": pair[0], "target": pair[1], "ahead": ahead.get(pair, 0) if ordered else 0}
            ahead[pair] = ahead.get(pair, 0) + 1
            names = self.model.union.envelope
            out.append({"kind": kind, **{k: v for k, v in written.items() if k in names}, **rest})
        return out


def fitted(name: str, value: Any, sizes: tuple[int, ...]) -> Any:
    """Cut a field over axes to the given sizes.

    Raises:
        ValueError: an entry beyond the sizes is not empty.
    """
    if not sizes:
        return value
    for extra in value[sizes[0] :]:
        if any(leaves(extra)):
            raise ValueError(f"{name} has an entry beyond {sizes[0] - 1}")
    return [fitted(name, v, sizes[1:]) for v in value[: sizes[0]]]


def leaves(value: Any) -> Iterator[Any]:
    """Yield the plain values inside a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        yield value
        return
    for inner in value:
        yield from leaves(inner)
