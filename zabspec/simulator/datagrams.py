"""Simulate a network of datagrams, and the timers of the db-19 lab."""

from __future__ import annotations

from zabspec.language import NODE, Field, Int, NodeId, Role
from zabspec.language.python.lang import AnyMessage, Node, State
from zabspec.simulator.mail import (
    HELD,
    SEQ_BITS,
    TICK,
    drawn,
    post,
    push,
    release,
    slot_of,
    step_taken,
    take_out,
    time_of,
)  # fmt: skip
from zabspec.worlds.actor import (
    ELECTION_TIMER,
    HEARTBEAT_TIMER,
    after_event,
    is_down,
    on_message,
    on_start,
    on_timer,
    receivable,
    timer_armed,
)
from zabspec.worlds.datagrams import ANY_ORDER, IN_ORDER
from zabspec.worlds.steps import ELECTION_TIMEOUT, HEARTBEAT, RECEIVE

ELECTION_TICKS = 150  # and as many again of jitter, so that votes do not split for ever
HEARTBEAT_TICKS = 50


def envelope(nodes: int) -> dict[str, Int]:
    """Return the fields of a message's envelope: source, target, and its place among all that was sent this way."""
    return {"source": NodeId.of(nodes), "target": NodeId.of(nodes), "sim_number": Int(0, 2**SEQ_BITS - 1)}


def datagram_fields() -> tuple[Field, ...]:
    """Return the fields of the timers and the network."""
    tick = Int(0, HELD)
    return (
        Field("sim_deadline", tick, Role.NETWORK, (NODE,), "when the election timer fires"),
        Field("sim_heartbeat_due", tick, Role.NETWORK, (NODE,), "when the heartbeat timer fires"),
        Field("sim_order", Int(0, IN_ORDER), Role.NETWORK, (), "ANY_ORDER, as the lab has it, ORDERED or IN_ORDER"),
        Field("sim_sent", Int(0, 2**SEQ_BITS - 1), Role.NETWORK, (NODE, NODE), "datagrams sent this way"),
        Field("sim_arrives", tick, Role.NETWORK, (NODE, NODE), "in an order: when what was sent last this way arrives"),
    )


def begin(s: State, p: Node) -> None:
    """Start process p, with its heartbeat timer from tick 0 and its election timer armed.

    Only the heartbeat itself arms its timer (reading 5). The election timer is armed since not every protocol's handler
    does so.
    """
    s.sim_heartbeat_due[p] = HELD if s.sim_scripted else HEARTBEAT_TICKS
    arm_timer(s, p, ELECTION_TIMER)
    on_start(s, p)


def send(s: State, p: Node, q: Node, m: AnyMessage) -> None:
    """Send a datagram: it is dropped now if the link is blocked, else delayed by a random number (reading 12).

    Where nothing is lost it waits until the link is open. That nobody is at an end of it is an error.
    """
    s.endpoint[p] = False
    s.endpoint[q] = False
    s.sim_sent[p][q] = s.sim_sent[p][q] + 1
    if s.sim_blocked[p][q] and s.sim_order != IN_ORDER:
        drop(s, p, q, m)
    else:
        arrival = HELD if s.sim_scripted else s.sim_moment + s.sim_least_delay + drawn(s, p, q, s.sim_delays)
        if s.sim_order != ANY_ORDER:
            arrival = max(s.sim_arrives[p][q], arrival)
            s.sim_arrives[p][q] = arrival
        address(s, post(s, arrival, p, m), p, q)


def address(s: State, slot: int, p: Node, q: Node) -> None:
    """Write the envelope."""
    s.sim_flight[slot].source = p
    s.sim_flight[slot].target = q
    s.sim_flight[slot].sim_number = s.sim_sent[p][q]


def drop(s: State, p: Node, q: Node, m: AnyMessage) -> None:
    """Lose a datagram; listeners observe the call."""


def arm_timer(s: State, p: Node, timer: int) -> None:
    """Arm a timer from now on: the lab's `reset_election_deadline`, or the heartbeat."""
    if timer == ELECTION_TIMER:
        s.sim_deadline[p] = HELD if s.sim_scripted else s.sim_moment + ELECTION_TICKS + drawn(s, p, 0, ELECTION_TICKS)
    else:
        s.sim_heartbeat_due[p] = HELD if s.sim_scripted else s.sim_moment + HEARTBEAT_TICKS


def deliver_due(s: State) -> None:
    """Deliver what is due, in the heap's order; mail to a process that is down is lost, or waits if nothing is lost.

    What a process does not take yet waits, and in an order what is behind it.
    """
    while s.sim_queued > 0 and time_of(s.sim_queue[0]) <= s.sim_moment:
        word = take_out(s, 0)
        slot = slot_of(word)
        p = s.sim_flight[slot].source
        q = s.sim_flight[slot].target
        late = s.sim_order == IN_ORDER and (is_down(s, q) or s.sim_blocked[p][q])
        if late or (not is_down(s, q) and (is_behind(s, slot) or not receivable(s, q, p, s.sim_flight[slot]))):
            push(s, word + TICK)
        else:
            if is_down(s, q):
                drop(s, p, q, s.sim_flight[slot])
            else:
                on_message(s, q, p, s.sim_flight[slot])
                step_taken(s, RECEIVE, q, p, slot)
                after_event(s)
            release(s, slot)


def is_behind(s: State, slot: int) -> bool:
    """Return whether, in an order, an earlier message between the same two processes waits to be received."""
    if s.sim_order != ANY_ORDER:
        for k in range(s.sim_queued):
            other = slot_of(s.sim_queue[k])
            if (
                s.sim_flight[other].source == s.sim_flight[slot].source
                and s.sim_flight[other].target == s.sim_flight[slot].target
                and s.sim_flight[other].sim_number < s.sim_flight[slot].sim_number
            ):
                return True
    return False


def fire_timers(s: State, p: Node) -> None:
    """Fire the timers of process p, which is up, as the lab's on_tick does.

    A timer that fires is armed again, whether or not the handler arms it.
    """
    if not is_down(s, p):
        if s.sim_moment >= s.sim_deadline[p] and timer_armed(s, p, ELECTION_TIMER):
            fire(s, p, ELECTION_TIMER)
        elif s.sim_moment >= s.sim_heartbeat_due[p] and timer_armed(s, p, HEARTBEAT_TIMER):
            fire(s, p, HEARTBEAT_TIMER)


def fire(s: State, p: Node, timer: int) -> None:
    """Fire a timer."""
    arm_timer(s, p, timer)
    on_timer(s, p, timer)
    step_taken(s, ELECTION_TIMEOUT if timer == ELECTION_TIMER else HEARTBEAT, p, 0, 0)
    after_event(s)


def link_cut(s: State, a: Node, b: Node) -> None:
    """Do nothing: a datagram only needs its link to be open when it is sent."""


def link_healed(s: State, a: Node, b: Node) -> None:
    """Do nothing: a datagram only needs its link to be open when it is sent."""


def links_of_crashed(s: State, p: Node) -> None:
    """Do nothing: datagrams have no connections."""


def lose_link(s: State, f: Node, l: Node) -> None:
    """Do nothing: datagrams have no connections."""


def time_out(s: State, p: Node) -> None:
    """Fire the election timer early."""
    if timer_armed(s, p, ELECTION_TIMER):
        s.sim_deadline[p] = s.sim_moment
