"""The db-19 lab's node, fragment by fragment of its pseudo-code and reading by reading, in the CPython world.

Every case of `db19-node.txt` is named by its fragment, or by the number of the reading that settles what the lab's text
leaves open, and quotes the text. Handlers are driven one at a time, each with the message or the timer that the case
names; below them stands what each sent, which timers it armed and what it changed: `Vote(1, 0.0, 0, 1)` has the fields
in the order of the lab's wire format, a zxid as epoch.counter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from invariants.claims import unique_zxid
from tests.transcript import cases, compare_cases
from zabspec.language import StateView
from zabspec.language.layout.schema import Role
from zabspec.language.python import reference
from zabspec.language.python.reference import MessageView, RecordValue
from zabspec.model import Configuration, Model
from zabspec.worlds.actor import ELECTION_TIMER, HEARTBEAT_TIMER

TEXT = Path(__file__).with_name("db19-node.txt")


@cache
def model(nodes: int) -> Model:
    return Model(Configuration(protocol="db19", nodes=nodes, txns=4, timeouts=5, crashes=3, heartbeats=3, channel=60))


def text_of(value: Any) -> str:
    if isinstance(value, RecordValue):
        return f"{value.epoch}.{value.counter}"
    if isinstance(value, reference.SeqView):
        return f"[{', '.join(map(text_of, value))}]"
    return f"{{{', '.join(map(str, sorted(value)))}}}" if isinstance(value, reference.SetView) else str(value)


# The lab's wire format. A field beside these is of a repair, and zero in what the lab's node sends.
WIRE = {
    "LookForLeader": ("src_id", "last_zxid", "peer_epoch"),
    "Vote": ("voter_id", "last_zxid", "peer_epoch", "leader_id"),
    "NewEpoch": ("new_epoch",),
    "AckEpoch": ("current_epoch", "last_zxid"),
    "NewLeader": ("new_epoch", "history"),
    "AckLeader": ("new_epoch",),
    "Propose": ("txn",),
    "Ack": ("zxid",),
    "Commit": ("zxid",),
}


def text(m: MessageView) -> str:
    """A message as text: its kind and its fields, in the order of the wire format."""
    others = set(m.union.named(m.name).fields) - set(WIRE[m.name])
    assert all(getattr(m, name) == 0 for name in others)
    return f"{m.name}({', '.join(text_of(getattr(m, name)) for name in WIRE[m.name])})"


class Cluster:
    """Nodes whose handlers are called one at a time; `timers` has each arming of a timer, in order."""

    def __init__(self, nodes: int = 3) -> None:
        self.program, self.union = model(nodes).program, model(nodes).union
        self.names: dict[str, Any] = reference.load(
            self.program.layout, self.program.namespace, self.program.types, self.program.steps
        )
        self.timers: list[str] = []
        self.names["arm_timer"] = lambda s, p, timer: self.timers.append(
            f"arms the {({ELECTION_TIMER: 'election', HEARTBEAT_TIMER: 'heartbeat'})[timer]} timer of {p}"
        )
        self.s = StateView(self.program.layout)
        self.names["initialize"](self.s)

    def fields(self) -> dict[str, str]:
        """What a node keeps, and what is observed of it."""
        out = {}
        for f in self.program.layout.schema.fields:
            if f.role not in (Role.SCRATCH, Role.NETWORK):
                for index, _ in self.program.layout.elements(f.name):
                    value = getattr(self.s, f.name)
                    for k in index:
                        value = value[k]
                    out["".join([f.name, *(f"[{k}]" for k in index)])] = text_of(value)
        return out

    def does(self, handler: str, p: int, *arguments: Any) -> Iterator[str]:
        """What a handler sent, in order, which is taken out of the bag; what it armed, and what it changed."""
        self.timers.clear()
        before = self.fields()
        self.names[handler](self.s, p, *arguments)
        assert all(m.source == p for m in self.s.in_flight)
        yield from (f"  to {m.target}: {text(m)}" for m in self.s.in_flight)
        self.s.in_flight.clear()
        yield from (f"  {timer}" for timer in self.timers)
        yield from (f"  {name} {before[name]} -> {now}" for name, now in self.fields().items() if now != before[name])

    def value(self, word: str) -> Any:
        """A number; a zxid, 1.2; a transaction, 1.2=3; or a history, [1.1,1.2], whose values are 1, 2, ..."""
        if word.startswith("["):
            s = StateView(self.program.layout)
            for k, one in enumerate(filter(None, word[1:-1].split(",")), 1):
                s.history[0].append(self.value(one if "=" in one else f"{one}={k}"))
            return s.history[0]
        zxid, _, value = word.partition("=")
        epoch, dot, counter = zxid.partition(".")
        if not dot:
            return int(word)
        numbers = {"epoch": int(epoch), "counter": int(counter)}
        return self.names["Txn"](**numbers, value=int(value)) if value else self.names["Zxid"](**numbers)

    def gets(self, p: int, kind: str, source: int, *words: str) -> Iterator[str]:
        """Node p handles a message made for the case."""
        given = dict(zip(WIRE[kind], map(self.value, words), strict=True))
        zero = dict.fromkeys(self.union.named(kind).fields, 0)
        return self.does("on_message", p, source, self.names[kind](**zero | given))

    def leads(self, p: int, *followers: int) -> None:
        """Node p leads, synced with these followers, who know nothing of it yet."""
        list(self.does("become_leading", p))
        for f in followers:
            list(self.gets(p, "AckEpoch", f, "0", "0.0"))
        for f in followers:
            list(self.gets(p, "AckLeader", f, str(self.s.current_epoch[p])))


HANDLERS = {
    "is elected": ("become_leading",),
    "times out": ("on_timer", ELECTION_TIMER),
    "beats": ("on_timer", HEARTBEAT_TIMER),
    "proposes": ("on_abcast",),
    "crashes": ("on_crash",),
    "recovers": ("on_recovery",),
}


def said(title: str, lines: list[str]) -> Iterator[str]:
    """What the lines of a case come to, in order; if `then` is among them, those below it."""
    c, shown = Cluster(), "then" not in lines
    for line in lines:
        if line.startswith("nodes "):
            c = Cluster(int(line[6:]))
        elif line == "then":
            shown = True
        else:
            output = list(said_of(c, line))
            yield from output if shown else ()


def said_of(c: Cluster, line: str) -> Iterator[str]:
    """What one line comes to."""
    first, _, rest = line.partition(" ")
    words = rest.split()
    if first == "quorum":
        yield f"{line}: {c.names['quorum'](c.s, set(map(int, words)))}"
    elif line == "who may propose":
        yield f"{line}: {[p for p in range(c.s.NODES) if c.names['may_abcast'](c.s, p)]}"
    elif line == "armed":
        timers = ((p, timer) for timer in (ELECTION_TIMER, HEARTBEAT_TIMER) for p in range(c.s.NODES))
        yield f"{line}: {[c.names['timer_armed'](c.s, *one) for one in timers]}"
    elif line == "unique zxid":
        yield f"{line}: {bool(unique_zxid(c.s))}"
    elif line == "begins":
        yield from (line, *(f"  {timer}" for timer in c.timers), f"  in flight: {len(c.s.in_flight)}")
        yield from (f"  {name} {value}" for name, value in c.fields().items() if re.match("role|leader_id", name))
    elif words[0] == "has":
        c.s.history[int(first)] = c.value(f"[{','.join(words[1:])}]")
    elif words[0] == "follows":
        leader, epoch = map(int, words[1:])
        list(c.does("become_following", int(first), leader))
        c.s.accepted_epoch[int(first)] = c.s.current_epoch[int(first)] = epoch
    elif words[0] == "leads":
        c.leads(int(first), *map(int, words[2:]))
    elif "=" in words:
        *place, last = int(first), *map(int, words[1:-2])
        held = getattr(c.s, words[0])
        for k in place:
            held = held[k]
        held[last] = c.value(words[-1])
    elif got := re.fullmatch(r"gets (\w+)\((.*)\) from (\d)", rest):
        yield line
        yield from c.gets(int(first), got[1], int(got[3]), *got[2].split(", "))
    else:
        assert rest != "proposes" or c.names["may_abcast"](c.s, int(first))
        yield line
        handler, *arguments = HANDLERS[rest]
        yield from c.does(handler, int(first), *arguments)


def test_a_node_does_what_the_text_says(request: pytest.FixtureRequest) -> None:
    compare_cases(TEXT, said, request)


def test_wire_format() -> None:
    """Nine variants, with the lab's fields in the lab's order."""
    union = model(3).union
    assert {m.name for m in union.messages} == set(WIRE)
    for m in union.messages:
        assert tuple(m.fields)[: len(WIRE[m.name])] == WIRE[m.name]


def test_look_for_leader_counts_as_a_vote_for_its_sender() -> None:
    """Reading 7."""
    one, other = Cluster(5), Cluster(5)
    for c in (one, other):
        list(c.does("on_timer", 1, ELECTION_TIMER))
    looks, votes = (one.gets(1, "LookForLeader", 3, "3", "0.1", "0"), other.gets(1, "Vote", 3, "3", "0.1", "0", "3"))
    assert list(looks) == list(votes)
    assert one.s.key() == other.s.key()


def test_every_fragment_and_reading_has_a_case() -> None:
    """The lab's fragments, and the readings of a node: 1, 2 and 15 are of the simulator."""
    fragments = (
        "on_entering_looking", "on_vote", "check_election", "become_leading", "on_new_epoch", "on_ack_epoch",
        "try_finish_discovery", "on_new_leader", "on_ack_leader", "try_finish_sync", "propose", "on_propose", "on_ack",
        "on_commit",
    )  # fmt: skip
    there = {re.split(r"[,:]", title)[0] for title, _ in cases(TEXT.read_text(encoding="utf-8"))}
    assert there >= {*fragments, *(f"reading {k}" for k in range(3, 15))}
