"""Instrument the world of datagrams: the order of sending between two processes, and scripted receipts and timers."""

from __future__ import annotations

from typing import Any

from traces.record.flight import Datagrams, Flight
from traces.record.instrumented import Event, InstrumentedWorld, ListensToEvents, Refused, Scripted
from traces.record.notes import Notes
from traces.record.trace import StepWord, Transmission
from traces.record.values import carried, message_said
from traces.replay.abstraction import Entry
from zabspec.language.python.reference import MessageView, StateView
from zabspec.worlds import over_datagrams
from zabspec.worlds.datagrams import ORDERED
from zabspec.worlds.disks import done

TIMERS = ("election", "heartbeat")


class OverDatagrams(InstrumentedWorld):
    world = over_datagrams.WORLD
    handlers = ("on_message", "on_timer")

    def flight(self) -> Flight:
        return Datagrams()

    # --- the simulator, listened to ----------------------------------------------------------------

    def listen(self, to: Notes, names: dict[str, Any]) -> None:
        key = done(names, "send")
        inner = names[key]

        def send(s: StateView, p: int, q: int, m: MessageView) -> None:
            inner(s, p, q, m)
            to.sends(Transmission(m.name, carried(m), p, q, 0, s.sim_sent[p][q]))

        names[key] = send

    def transmission(self, m: MessageView) -> Transmission:
        return Transmission(m.name, carried(m), m.source, m.target, 0, m.sim_number)

    # --- the simulator's events --------------------------------------------------------------------

    def events(self, to: ListensToEvents) -> None:
        to.handler("on_timer", lambda s, p, timer: to.note(s, "timer", process=p, timer=TIMERS[timer]))
        to.handler("on_message", lambda s, p, source, m: to.delivered(s, m))

    def sent(self, s: StateView, m: MessageView) -> Event | None:
        return {"from": m.source, "to": m.target, "seq": s.sim_seq, "message": message_said(m)}

    def why_dropped(self, to: ListensToEvents, s: StateView, p: int, q: int) -> str:
        return "blocked"

    def room(self, flight: int) -> dict[str, int]:
        return {"channel": flight} if flight > over_datagrams.IN_FLIGHT else {}

    # --- a script ----------------------------------------------------------------------------------

    def source(self, scripted: Scripted, word: StepWord) -> int:
        return int(entry_at(scripted, word).message.source)

    def set_up(self, scripted: Scripted, word: StepWord) -> Transmission | None:
        s, kind = scripted.state, word.kind
        if word.row.message:
            return mail(scripted, word)
        if kind == "election_timeout":
            s.sim_deadline[word.operands["process"]] = s.sim_moment
        elif kind == "heartbeat":
            s.sim_heartbeat_due[word.operands["process"]] = s.sim_moment
        else:
            return super().set_up(scripted, word)
        return None


def mail(scripted: Scripted, word: StepWord) -> Transmission | None:
    """Let a datagram arrive, once or twice, or lose it; on an ordered network, first lose those that it overtakes.

    Returns:
        The message that is lost, or None.

    Raises:
        Refused: there is no such message.
    """
    s, row, names = scripted.state, word.row, scripted.names
    entry = entry_at(scripted, word)
    pair = (entry.message.source, entry.message.target)
    if row.loses:
        message = WATCHED.transmission(entry.message)
        names["lose_mail"](s, entry.place)
        return message
    if s.sim_order == ORDERED:
        while overtaken := [
            e for e in scripted.abstraction.bag(s) if e.seq < entry.seq and (e.message.source, e.message.target) == pair
        ]:
            names["lose_mail"](s, overtaken[0].place)
    here = next(e for e in scripted.abstraction.bag(s) if e.seq == entry.seq)
    if row.keeps:
        names["repeat_mail"](s, here.place)
    else:
        names["bring_forward"](s, here.place)
    return None


def entry_at(scripted: Scripted, word: StepWord) -> Entry:
    """Return the datagram of a step.

    Raises:
        Refused: it does not exist, or is not between these two processes.
    """
    bag, o = scripted.abstraction.bag(scripted.state), word.operands
    if o["place"] >= len(bag):
        raise Refused("there is no such message in flight")
    entry = bag[o["place"]]
    if (entry.message.source, entry.message.target) != (o.get("source", entry.message.source), o["process"]):
        raise Refused(f"the message there is from p{entry.message.source} to p{entry.message.target}")
    return entry


WATCHED = OverDatagrams()
