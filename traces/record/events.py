"""Record everything that happens in a simulated run, in order, as JSON lines.

The events come from the calls that the simulator's functions make of each other in the CPython
world, so they also tell what leaves no mark on the state. Every event has its `tick` and its name;
a message that was sent has a `seq`, the same when it is sent and when it is delivered or lost.

    send, deliver       from, to, seq, message (and, over connections, which one); send: arrives
    drop                the same with why: blocked, closed or lost when it was sent (no seq), down or
                        closed when it arrived
    timer               process, timer: election or heartbeat, fires (datagrams)
    timeout             process gives up waiting (connections)
    oracle              process is told its leader; connect: a connection is opened; lost: process
                        learns that its connection with peer is lost
    abcast, abdeliver, accept, establish    process, and txn, epoch or history
    role                process, from, to: at the end of the handler that changed it
    crash, recover      process
    cut, heal, lose     from, to: a fault of the schedule
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from traces.record.instrumented import Event
from traces.record.notes import hear_history, hear_observations
from traces.record.values import message_said
from traces.record.worlds import watched_as
from zabspec.language.python.reference import MessageView, StateView
from zabspec.protocols.registry import Protocol
from zabspec.simulator.loop import CUT, HEAL, LOSE
from zabspec.simulator.model import Cluster
from zabspec.simulator.run import Run, Simulator, play

__all__ = ["Event", "events_of", "lines", "role_name"]

STRIKES = {CUT: "cut", HEAL: "heal", LOSE: "lose"}
ROLES = ("LOOKING", "ELECTION", "FOLLOWING", "LEADING", "DOWN")


def role_name(protocol: Protocol, role: int) -> str:
    """Return the name that a protocol gives to a role."""
    found = (name for name in ROLES for module in protocol.modules if getattr(module, name, None) == role)
    return next(found, str(role)).capitalize()


def lines(events: list[Event]) -> bytes:
    """Return events as JSON lines."""
    return "".join(json.dumps(e, separators=(",", ":")) + "\n" for e in events).encode()


def events_of(run: Run, watch: Callable[[Simulator], object] = lambda _: None) -> tuple[Simulator, list[Event]]:
    """Play a run in the CPython world and return its events.

    Args:
        run: the run.
        watch: called with the simulator before the run begins.

    Returns:
        The simulator, whose state is the run's last, and all that happened.

    Raises:
        SimulationError: a value would leave its range.
    """
    heard: list[EventListener] = []

    def listened(cluster: Cluster, engine: str) -> Simulator:
        heard.append(EventListener(Simulator(cluster, engine)))
        watch(heard[-1].simulator)
        return heard[-1].simulator

    simulator = play(run, "interpret", listened)
    return simulator, heard[-1].events


class EventListener:
    """A listener that records the events in a simulator of the CPython world.

    Attributes:
        events: all that happened so far.
    """

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.protocol = simulator.cluster.parts_of
        self.watched = watched_as(self.protocol.world)
        self.txn = simulator.cluster.parts.txn
        self.events: list[Event] = []
        self.names = simulator.names
        self.flying: dict[int, Event] = {}  # for each slot the message in it, with its sender and its target
        self.roles = [0] * simulator.cluster.nodes
        self.process = -1  # the process whose handler runs
        self.arrives = 0  # of the message that is being sent
        base, (stride,) = simulator.layout.strides(simulator.layout.fields["sim_flight"])
        self.flight, self.stride = base, stride
        self.handlers()
        self.mail()
        hear_history(self.names, self.txn, lambda _: self.process, self.hears)
        hear_observations(self.names, self.protocol.text, self.observes)
        self.faults()

    def note(self, s: StateView, event: str, **what: Any) -> None:
        self.events.append({"tick": s.sim_moment, "event": event, **what})

    def hears(self, s: StateView, name: str, p: int, values: dict[str, Any]) -> None:
        self.note(s, name, process=p, **values)

    def observes(self, s: StateView, name: str, p: int | None, said: dict[str, Any]) -> None:
        self.note(s, "observe", observation=name, **({} if p is None else {"process": p}), fields=said)

    def slot(self, s: StateView, m: MessageView) -> int:
        """Return the slot in which a message lies; -1 if it is not in flight."""
        if m.buffer is not s.buffer or not self.flight <= m.at < self.flight + self.stride * len(s.sim_flight):
            return -1
        return (m.at - self.flight) // self.stride

    # --- handlers --------------------------------------------------------------------------------

    def handlers(self) -> None:
        """Record when a handler runs and why, and the role in which it leaves its process."""
        note = self.note
        self.handler("on_start", lambda s, p: None)
        self.handler("on_abcast", lambda s, p: None)
        self.handler("on_crash", lambda s, p: note(s, "crash", process=p))
        self.handler("on_recovery", lambda s, p: note(s, "recover", process=p))
        self.handler("on_act", lambda s, p, k: note(s, "act", process=p, action=self.protocol.actions[k]))
        self.changes()
        self.watched.events(self)

    def changes(self) -> None:
        """Record what the environment does."""
        inner = self.names["on_change"]

        def change(s: StateView, k: int) -> None:
            self.note(s, "environment", change=self.protocol.changes[k])
            inner(s, k)

        self.names["on_change"] = change

    def handler(self, name: str, begins: Callable[..., None]) -> None:
        """Wrap one handler; `begins` records its arguments."""
        inner = self.names.get(name)
        if inner is None:
            return

        def handle(s: StateView, p: int, *rest: Any) -> Any:
            begins(s, p, *rest)
            outer, self.process = self.process, p
            result = inner(s, p, *rest)
            self.process = outer
            if not self.protocol.declared.replicas:
                return result
            role = s.role[p]
            if role != self.roles[p]:
                before, after = role_name(self.protocol, self.roles[p]), role_name(self.protocol, role)
                self.roles[p] = role
                self.note(s, "role", process=p, **{"from": before, "to": after})
            return result

        self.names[name] = handle

    # --- messages --------------------------------------------------------------------------------

    def mail(self) -> None:
        """Record what is sent, delivered and lost."""
        names = self.names
        post, address, drop, release = (names[k] for k in ("post", "address", "drop", "release"))

        def on_post(s: StateView, time: int, source: int, m: MessageView) -> int:
            self.arrives = time
            slot: int = post(s, time, source, m)
            return slot

        def on_address(s: StateView, slot: int, *envelope: int) -> None:
            address(s, slot, *envelope)
            self.sent(s, slot, s.sim_flight[slot])

        def on_drop(s: StateView, p: int, q: int, m: MessageView) -> None:
            drop(s, p, q, m)
            about = self.flying.pop(self.slot(s, m), None)
            if about is not None:
                self.note(s, "drop", **about, why="down")
            else:
                why = self.watched.why_dropped(self, s, p, q)
                self.note(s, "drop", **{"from": p, "to": q}, message=message_said(m), why=why)

        def on_release(s: StateView, slot: int) -> None:
            release(s, slot)
            about = self.flying.pop(slot, None)
            if about is not None:
                self.note(s, "drop", **about, why="closed")

        names.update(post=on_post, address=on_address, drop=on_drop, release=on_release)

    def sent(self, s: StateView, slot: int, m: MessageView) -> None:
        """Record that a message was put into the heap, unless it is a notice of the network."""
        about = self.watched.sent(s, m)
        if about is None:
            return
        self.flying[slot] = about
        self.note(s, "send", **about, arrives=self.arrives)

    def delivered(self, s: StateView, m: MessageView) -> None:
        """Record that a handler receives a message that was in flight."""
        self.note(s, "deliver", **self.flying.pop(self.slot(s, m)))

    def faults(self) -> None:
        """Record the scheduled faults that no handler answers."""
        names = self.names
        strike = names["strike"]

        def on_strike(s: StateView, kind: int, a: int, b: int) -> None:
            if kind in STRIKES:
                self.note(s, STRIKES[kind], **{"from": a, "to": b})
            strike(s, kind, a, b)

        names["strike"] = on_strike
