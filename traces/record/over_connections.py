"""Instrument the world of connections: who sent what over which connection, and scripted receipts and losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from traces.record.flight import Connections, Flight
from traces.record.instrumented import Event, InstrumentedWorld, ListensToEvents, Refused, Scripted
from traces.record.notes import Notes
from traces.record.trace import StepWord, Transmission
from traces.record.values import carried, message_said
from zabspec.language.python.reference import MessageView, StateView
from zabspec.simulator.connections import DATAGRAM, DOWN_WAY, NOTICE_DOWN, NOTICE_UP, UP
from zabspec.worlds import over_connections
from zabspec.worlds.disks import done


class OverConnections(InstrumentedWorld):
    world = over_connections.WORLD
    handlers = (
        "on_oracle", "receive_as_leader", "receive_as_follower", "on_follower_lost", "on_leader_lost", "on_timeout",
        "on_elected", "on_follow",
    )  # fmt: skip

    def flight(self) -> Flight:
        return Connections()

    # --- the simulator, listened to ----------------------------------------------------------------

    def listen(self, to: Notes, names: dict[str, Any]) -> None:
        for name, up in (("send_to_leader", True), ("send_to_follower", False)):
            key = done(names, name)
            names[key] = sender(to, names["is_open"], names[key], up)

    def transmission(self, m: MessageView) -> Transmission:
        up = m.way == UP
        source, target = (m.follower, m.leader) if up else (m.leader, m.follower)
        return Transmission(m.name, carried(m), source, target, m.connection, m.number)

    # --- the simulator's events --------------------------------------------------------------------

    def events(self, to: ListensToEvents) -> None:
        note = to.note
        to.handler("on_oracle", lambda s, p, l: note(s, "oracle", process=p, leader=l))
        to.handler("on_elected", lambda s, l: note(s, "elected", process=l))
        to.handler("on_follow", lambda s, f, l: note(s, "follow", process=f, leader=l))
        to.handler("on_timeout", lambda s, p: note(s, "timeout", process=p))
        to.handler("on_follower_lost", lambda s, l, f: note(s, "lost", process=l, peer=f))
        to.handler("on_leader_lost", lambda s, f: note(s, "lost", process=f, peer=s.leader[f]))
        to.handler("receive_as_leader", lambda s, l, f, m: to.delivered(s, m))
        to.handler("receive_as_follower", lambda s, f, m: to.delivered(s, m))
        to.handler("on_election_message", lambda s, p, m: to.delivered(s, m))
        key = done(to.names, "connect")
        connect = to.names[key]

        def on_connect(s: StateView, f: int, l: int) -> None:
            connect(s, f, l)
            note(s, "connect", process=f, leader=l, connection=s.connection[f][l])

        to.names[key] = on_connect

    def sent(self, s: StateView, m: MessageView) -> Event | None:
        if m.way in (UP, DOWN_WAY):
            ends = (m.follower, m.leader) if m.way == UP else (m.leader, m.follower)
            about = {"from": ends[0], "to": ends[1], "seq": s.sim_seq, "message": message_said(m)}
            return about | {"connection": m.connection, "number": m.number}
        if m.way == DATAGRAM:
            return {"from": m.follower, "to": m.leader, "seq": s.sim_seq, "message": message_said(m)}
        return None

    def why_dropped(self, to: ListensToEvents, s: StateView, p: int, q: int) -> str:
        is_open = to.names["is_open"]
        return "lost" if is_open(s, p, q) or is_open(s, q, p) else "closed"

    # --- a script ----------------------------------------------------------------------------------

    def set_up(self, scripted: Scripted, word: StepWord) -> Transmission | None:
        s, o, kind = scripted.state, word.operands, word.kind
        if word.row.message:
            return mail(scripted, word)
        if kind in ("leader_learns", "follower_learns"):
            notice(scripted, o["follower"], o["leader"], kind == "leader_learns")
        elif kind in ("leader_loses", "follower_loses"):
            scripted.names["lose_link"](s, o["follower"], o["leader"])
            notice(scripted, o["follower"], o["leader"], kind == "leader_loses")
        elif kind == "oracle":
            s.oracle_due[o["process"]], s.sim_client = s.sim_moment, o["leader"]
        elif kind == "elect":
            s.oracle_due[o["leader"]], s.quorum = s.sim_moment, o["quorum"]
        elif kind == "join":
            s.oracle_due[o["process"]], s.sim_client = s.sim_moment, o["leader"]
        elif kind == "partition":
            cut(scripted, o["side"])
        elif kind == "lose_connection":
            scripted.schedule([("lose", o["follower"], o["leader"])])
        else:
            return super().set_up(scripted, word)
        return None


def sender(to: Notes, is_open: Callable[..., bool], inner: Callable[..., None], up: bool) -> Callable[..., None]:
    """Wrap `send_to_leader` or `send_to_follower`, to record what is sent."""

    def send(s: StateView, p: int, *rest: Any) -> None:
        f, l = (p, s.leader[p]) if up else (rest[0], p)
        inner(s, p, *rest)
        m = rest[-1]
        source, target = (f, l) if up else (l, f)
        connection = s.connection[f][l] if l >= 0 else 0
        number = (s.sent_up if up else s.sent_down)[f][l] if l >= 0 and is_open(s, f, l) else 0
        to.sends(Transmission(m.name, carried(m), source, target, connection, number, number == 0))

    return send


def mail(scripted: Scripted, word: StepWord) -> Transmission | None:
    """Let a message over a connection arrive, once or twice, or lose it.

    Returns:
        The message that is lost, or None.

    Raises:
        Refused: there is no such message.
    """
    s, row = scripted.state, word.row
    f, l, place = word.operands["follower"], word.operands["leader"], word.operands.get("place", 0)
    queue = scripted.abstraction.over(s, f, l, UP if row.message == "to_leader" else DOWN_WAY)
    if place >= len(queue):
        raise Refused("there is no such message in flight")
    entry = queue[place]
    if row.loses:
        message = WATCHED.transmission(entry.message)
        scripted.names["lose_mail"](s, entry.place)
        return message
    scripted.names["repeat_mail" if row.keeps else "bring_forward"](s, entry.place)
    return None


def notice(scripted: Scripted, f: int, l: int, at_leader: bool) -> None:
    """Let the notice of a lost connection arrive at one end.

    Raises:
        Refused: no notice is in transit.
    """
    s, way = scripted.state, NOTICE_UP if at_leader else NOTICE_DOWN
    for entry in scripted.abstraction.bag(s):
        m = entry.message
        if (m.follower, m.leader, m.way, m.connection) == (f, l, way, s.connection[f][l]):
            scripted.names["bring_forward"](s, entry.place)
            return
    raise Refused("no notice of a loss is on its way")


def cut(scripted: Scripted, side: int) -> None:
    """Schedule a partition that cuts every link across, and heals.

    Args:
        side: the processes on one side without p0, as a mask.

    Raises:
        Refused: the mask contains p0, or an unknown process.
    """
    nodes = range(scripted.model.configuration.nodes)
    if side & 1 or side >> len(nodes):
        raise Refused("a cut is named by its side without p0")
    across = [(a, b) for a in nodes for b in nodes if (side >> a & 1) != (side >> b & 1)]
    scripted.schedule([("cut", *way) for way in across] + [("heal", *way) for way in across])


WATCHED = OverConnections()
