"""Define the world of datagrams: any message may overtake any other, or never arrive.

The messages in flight are a bag. A message may take any time, so one that is lost is one that has not arrived by the
end of the run. Explorations may leave out receipts that do nothing, since the message may as well take longer
(docs/explanation/reductions.md, stuttering receipts). An armed timer may fire at any time.

On an ordered network no message overtakes another between the same two processes: the ones that it would overtake are
lost. Its runs are runs of the other network too, and far fewer. On a network in order (`fifo`) none is lost either: a
message is received when no other from the same process is ahead of it. There no receipt is left out, since what is
behind the message waits for it. A process may leave a message in flight until it takes it (`receivable`).

Beyond that the network may lose messages in flight, or deliver them again: each costs a budget.

This module has the untimed world's steps, as `connections` has its own.
"""

from __future__ import annotations

from zabspec.language import NODE, Field, Int, MessageUnion, NodeId, Role, Seq
from zabspec.language.python.lang import NOBODY, AnyMessage, Node, State, Words
from zabspec.worlds.actor import (
    ELECTION_TIMER,
    HEARTBEAT_TIMER,
    abcasts_left,
    begin_at,
    breaks_off,
    came_up,
    end_inside,
    fill_budgets,
    fill_power_losses,
    goes_on,
    is_down,
    lose_power,
    may_abcast,
    may_act,
    may_change,
    may_fail,
    may_lose_all,
    may_recover,
    on_abcast,
    on_act,
    on_change,
    on_crash,
    on_message,
    on_recovery,
    on_start,
    on_timer,
    outage,
    receivable,
    timer_armed,
    went_down,
)
from zabspec.worlds.crash_within import begin_broken_off, kind_broken_off, offer, offer_action, offer_receipt
from zabspec.worlds.step_annotations import (
    begin_step,
    emit,
    emit_alone,
    emit_nobodys,
    emit_which,
    no_steps,
    peer_in,
    process_in,
)
from zabspec.worlds.steps import (
    ABCAST,
    ACTION,
    CRASH,
    DROP,
    ELECTION_TIMEOUT,
    ENVIRONMENT,
    HEARTBEAT,
    NOBODYS,
    OUTAGE,
    PEERS,
    POWER_LOSS,
    RECEIVE,
    RECOVER,
    REPEAT,
)

# The networks.
ANY_ORDER, ORDERED, IN_ORDER = 0, 1, 2


def envelope(nodes: int, ahead: int) -> dict[str, Int]:
    """Return the fields of a message's envelope: its source, its target, and its place in their order.

    Where there is an order, `ahead` is the number of their messages in flight ahead of it.
    """
    node = NodeId.of(nodes)
    return {"source": node, "target": node, "ahead": Int(0, ahead, "--channel")}


def datagram_fields(message: MessageUnion, capacity: int, network: int) -> tuple[Field, ...]:
    """Return the network's fields.

    Where there is an order, the number of messages in flight between two processes is kept, so that sending to one
    process is independent of sending to another.

    Args:
        message: the messages.
        capacity: the maximum number of messages in flight.
        network: the order of the network.
    """
    bag = Seq(message, capacity, "--channel", bag=True, blocks=network == IN_ORDER)
    line = Field(
        "in_line", Int(0, capacity + 1), Role.NETWORK, (NODE, NODE), "how many of one are in flight to another"
    )
    flight = Field("in_flight", bag, Role.NETWORK, (), "the messages in flight, in no order")
    return (flight,) if network == ANY_ORDER else (flight, line)


def initialize(s: State) -> None:
    """Set the initial state: every process has started, nothing is in flight, all budgets are full."""
    s.timeouts_left = s.TIMEOUTS
    s.heartbeats_left = s.HEARTBEATS
    s.crashes_left = s.CRASHES
    s.drops_left = s.DROPS
    s.duplicates_left = s.DUPLICATES
    fill_budgets(s)
    fill_power_losses(s)
    for p in range(s.NODES):
        on_start(s, p)
    begin_at(s)


# --- what the world provides to handlers -------------------------------------------------------


def send(s: State, p: Node, q: Node, m: AnyMessage) -> None:
    """Send m from process p to q; a q that is nobody is an error."""
    s.endpoint[p] = False
    s.endpoint[q] = False
    ahead = 0
    if s.NETWORK != ANY_ORDER:
        ahead = s.in_line[p][q]
        s.in_line[p][q] = ahead + 1
    s.in_flight.append(m)
    last = len(s.in_flight) - 1
    s.in_flight[last].source = p
    s.in_flight[last].target = q
    s.in_flight[last].ahead = ahead


def arm_timer(s: State, p: Node, timer: int) -> None:
    """Do nothing: in this world an armed timer may fire at any time."""


# --- the steps that are possible ---------------------------------------------------------------


def enabled(s: State, out: Words) -> None:
    """List every step possible in s, in a fixed order."""
    no_steps(out)
    for p in range(s.NODES):
        if is_down(s, p):
            if may_recover(s, p):
                offer(s, out, RECOVER, p)
        else:
            if s.timeouts_left > 0 and timer_armed(s, p, ELECTION_TIMER):
                offer(s, out, ELECTION_TIMEOUT, p)
            if s.heartbeats_left > 0 and timer_armed(s, p, HEARTBEAT_TIMER):
                offer(s, out, HEARTBEAT, p)
            if abcasts_left(s) and may_abcast(s, p):
                offer(s, out, ABCAST, p)
            if s.crashes_left > 0:
                emit_alone(out, CRASH, p)
            may_fail(s, out, p)
            for k in range(s.ACTIONS):
                if not goes_on(s, k) and may_act(s, p, k):
                    offer_action(s, out, p, k)
        for k in range(s.ACTIONS):
            if goes_on(s, k) and may_act(s, p, k):
                emit_which(out, ACTION, p, k)
    for k in range(len(s.in_flight)):
        p = s.in_flight[k].target
        source = s.in_flight[k].source
        if not is_down(s, p) and (s.NETWORK != IN_ORDER or s.in_flight[k].ahead == 0):
            if receivable(s, p, source, s.in_flight[k]):
                offer_receipt(s, out, RECEIVE, p, source, k)
                if s.duplicates_left > 0:
                    offer_receipt(s, out, REPEAT, p, source, k)
        if s.drops_left > 0:
            emit(out, DROP, p, source, k)
    for k in range(s.CHANGES):
        if may_change(s, k):
            emit_nobodys(out, ENVIRONMENT, k)
    may_lose_all(s, out)


# --- what a step does --------------------------------------------------------------------------


def apply(s: State, word: int) -> None:
    """Take the step: s becomes the state after it."""
    kind = (word >> 24) & 255
    a = NOBODY if (NOBODYS >> kind) & 1 == 1 else process_in(word)
    b = peer_in(word) if (PEERS >> kind) & 1 == 1 else NOBODY
    c = word & 255
    if breaks_off(kind):
        kind = kind_broken_off(word)
        if kind == RECEIVE or kind == REPEAT:
            b = s.in_flight[c].source
    begin_step(s, word, a, b)
    if breaks_off(s.event):
        begin_broken_off(s, word)
    if kind == RECEIVE:
        s.event_message = s.in_flight[c]
        take_out(s, c, False, s.NETWORK == ORDERED)
        on_message(s, a, b, s.event_message)
    elif kind == REPEAT:
        s.duplicates_left = s.duplicates_left - 1
        s.event_message = s.in_flight[c]
        take_out(s, c, True, s.NETWORK == ORDERED)
        on_message(s, a, b, s.event_message)
    elif kind == DROP:
        s.drops_left = s.drops_left - 1
        take_out(s, c, False, False)
    elif kind == ELECTION_TIMEOUT:
        s.timeouts_left = s.timeouts_left - 1
        on_timer(s, a, ELECTION_TIMER)
    elif kind == HEARTBEAT:
        s.heartbeats_left = s.heartbeats_left - 1
        on_timer(s, a, HEARTBEAT_TIMER)
    elif kind == ABCAST:
        on_abcast(s, a)
    elif kind == CRASH:
        s.crashes_left = s.crashes_left - 1
        crash(s, a)
    elif kind == RECOVER:
        came_up(s, a)
        on_recovery(s, a)
    elif kind == ACTION:
        on_act(s, a, c)
    elif kind == ENVIRONMENT:
        on_change(s, c)
    elif kind == POWER_LOSS:
        lose_power(s, a, c)
        crash(s, a)
    elif kind == OUTAGE:
        outage(s)
    if breaks_off(s.event):
        end_inside(s, a)
        crash(s, a)


def crash(s: State, p: Node) -> None:
    """Crash process p: it loses its volatile fields."""
    on_crash(s, p)
    went_down(s, p)


def take_out(s: State, place: int, stays: bool, overtakes: bool) -> None:
    """Remove the message at a place of the bag, which arrives or is lost.

    Args:
        s: the state.
        place: the place.
        stays: a copy of it stays in flight.
        overtakes: those ahead of it are lost.
    """
    if s.NETWORK == ANY_ORDER:
        if not stays:
            s.in_flight.pop(place)
    else:
        source = s.in_flight[place].source
        target = s.in_flight[place].target
        taken = s.in_flight[place].ahead
        lost = taken if overtakes else 0
        for i in range(s.FLIGHT):
            k = s.FLIGHT - 1 - i  # from the last: what is taken out moves those behind it only
            if k < len(s.in_flight) and s.in_flight[k].source == source and s.in_flight[k].target == target:
                ahead = s.in_flight[k].ahead
                if ahead < lost or (ahead == taken and not stays):
                    s.in_flight.pop(k)
                    s.in_line[source][target] = s.in_line[source][target] - 1
                elif ahead == taken:
                    s.in_flight[k].ahead = ahead - lost
                elif ahead > taken:
                    s.in_flight[k].ahead = ahead - lost - (0 if stays else 1)


def choose(s: State, alternatives: int) -> int:
    """Return one of 0..alternatives-1; all are explored.

    What a step chooses first is the lowest digit of its alternative.
    """
    most = max(alternatives, 0)  # of fewer than one there is none: it divides by zero
    chosen = s.choice // s.choices % most
    s.choices = s.choices * most
    return chosen


def durable(s: State, point: int) -> bool:
    """Return whether the process crashes at this point of its handler, which must then return."""
    return s.crash_at == point
