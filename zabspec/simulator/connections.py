"""Simulate a network of connections, and the leader oracle, for protocols such as `zab`.

A connection has two ends. Mail over it is numbered in each direction, as TCP numbers what it carries, and an end takes
it in that order; what arrives at an end that is closed, or over an older connection, is thrown away. When a connection
is cut, or the other end closes, a notice is posted to each end that is still open; what has not arrived before the
notice is lost.

It shares nothing with the explorer's world of connections but what the two have to agree on: `abstraction` (in
`traces/`) maps one to the other, and replay compares them.
"""

from __future__ import annotations

from zabspec.language import NODE, Bool, Field, Int, NodeId, Role
from zabspec.language.layout.wrapping import unsigned_rem
from zabspec.language.python.lang import AnyMessage, Node, State
from zabspec.simulator.mail import (
    HELD,
    TICK,
    drawn,
    post,
    push,
    release,
    slot_of,
    splitmix64,
    step_taken,
    take_out,
    time_of,
)  # fmt: skip
from zabspec.worlds.actor import (
    ELECTION,
    LEADING,
    after_event,
    choose,
    is_down,
    may_receive,
    may_time_out,
    on_crash,
    on_follower_lost,
    on_leader_lost,
    on_oracle,
    on_start,
    on_timeout,
    oracle_may_name,
    receivable,
    receive_as_follower,
    receive_as_leader,
    recovering,
    went_down,
)
from zabspec.worlds.steps import (
    DROP_TO_FOLLOWER,
    DROP_TO_LEADER,
    FOLLOWER_LEARNS,
    LEADER_LEARNS,
    LOSE_CONNECTION,
    ORACLE,
    TIMEOUT,
    TO_FOLLOWER,
    TO_LEADER,
)  # fmt: skip

# The direction of a message over a connection, and whether it is the notice that the connection is lost.
NO_WAY, UP, DOWN_WAY, NOTICE_UP, NOTICE_DOWN = 0, 1, 2, 3, 4  # none: it is lost
DATAGRAM = 5  # it belongs to no connection: a message of an election

# What an end asks of the numbers of what it takes, by network (as `worlds/connections.py` names them):
# each in turn; later than the last; nothing; in turn, or the last again; in turn, over all connections of a pair.
FIFO, LOSSY, UNORDERED, DUPLICATING, STALE = 0, 1, 2, 3, 4
LAST_ORDER = STALE

RECOVERY_TICKS = 150  # a process that has not recovered by then, and some jitter, tries again
ORACLE_TICKS = 10
SELDOM = 32  # one message in so many is lost on lossy channels, or duplicated on duplicating ones
ORACLE_TERM = 64  # for so long the oracle names the same leader


def envelope(nodes: int) -> dict[str, Int]:
    """Return the fields of a message's envelope: the connection, the direction, and the number."""
    return {
        "follower": NodeId.of(nodes),
        "leader": NodeId.of(nodes),
        "way": Int(0, 5),
        "connection": Int(0, 2**16 - 1),
        "number": Int(0, 2**16 - 1),
    }


def connection_fields() -> tuple[Field, ...]:
    """Return the fields of every connection; the first process of a pair is the follower that opened it."""
    net = Role.NETWORK
    number = Int(0, 2**16 - 1)
    pair = (NODE, NODE)
    return (
        Field("sim_order", Int(0, LAST_ORDER), net, (), "FIFO, LOSSY, UNORDERED, DUPLICATING or STALE"),
        Field("opened", number, net, pair, "connections between two processes so far (lower first)"),
        Field("connection", number, net, pair, "which of them this is"),
        Field("follower_end", Bool(), net, pair, "the follower's end is open"),
        Field("leader_end", Bool(), net, pair, "the leader's end is open"),
        Field("cut", Bool(), net, pair, "it is lost, and neither end may know"),
        Field("sent_up", number, net, pair, "messages sent to the leader"),
        Field("sent_down", number, net, pair, "messages sent to the follower"),
        Field("taken_up", number, net, pair, "the last number the leader took"),
        Field("taken_down", number, net, pair, "the last number the follower took"),
        Field("arrives_up", Int(0, HELD), net, pair, "when the last message to the leader arrives"),
        Field("arrives_down", Int(0, HELD), net, pair, "when the last message to the follower arrives"),
        Field("sim_deadline", Int(0, HELD), net, (NODE,), "when a process that has not recovered gives up"),
        Field("oracle_due", Int(0, HELD), net, (NODE,), "when the oracle answers a process in ELECTION"),
    )


def begin(s: State, p: Node) -> None:
    """Start a process in ELECTION; the oracle answers after some ticks."""
    s.sim_deadline[p] = HELD
    s.oracle_due[p] = HELD if s.sim_scripted else 1 + drawn(s, p, 0, ORACLE_TICKS)
    on_start(s, p)


# --- what the world provides to handlers ---------------------------------------------------------


def connect(s: State, f: Node, l: Node) -> None:
    """Open a connection of follower f to l, after closing the one that it has left open."""
    close_opened(s, f)
    low = min(f, l)
    high = max(f, l)
    s.opened[low][high] = s.opened[low][high] + 1
    open_as(s, f, l, s.opened[low][high])


def open_as(s: State, f: Node, l: Node, number: int) -> None:
    """Open the connection of a given number, over which nothing was sent yet."""
    s.connection[f][l] = number
    s.follower_end[f][l] = True
    s.leader_end[f][l] = True
    s.cut[f][l] = False
    if s.sim_order == STALE and f != l:
        s.sent_up[f][l] = last_kept(s, f, l, UP, s.taken_up[f][l], s.sent_up[f][l])
        s.sent_down[f][l] = last_kept(s, f, l, DOWN_WAY, s.taken_down[f][l], s.sent_down[f][l])
    else:
        s.sent_up[f][l] = 0
        s.sent_down[f][l] = 0
        s.taken_up[f][l] = 0
        s.taken_down[f][l] = 0
    s.arrives_up[f][l] = 0
    s.arrives_down[f][l] = 0


def last_kept(s: State, f: Node, l: Node, way: int, taken: int, sent: int) -> int:
    """Choose how much of earlier connections still arrives on a stale network; return the last number of that."""
    last = taken + choose(s, sent - taken + 1)
    for k in range(s.sim_queued):
        slot = slot_of(s.sim_queue[k])
        if s.sim_flight[slot].follower == f and s.sim_flight[slot].leader == l and s.sim_flight[slot].way == way:
            if s.sim_flight[slot].number > last:
                s.sim_flight[slot].way = NO_WAY
    return last


def outlasts(s: State, f: Node, l: Node, way: int) -> bool:
    """Return whether a message between f and l outlasts its connection."""
    return s.sim_order == STALE and f != l and (way == UP or way == DOWN_WAY)


def is_open(s: State, f: Node, l: Node) -> bool:
    """Return whether what is sent over the connection can arrive."""
    return s.follower_end[f][l] and s.leader_end[f][l] and not s.cut[f][l]


def send_to_leader(s: State, f: Node, m: AnyMessage) -> None:
    """Send m from a follower to the leader it follows."""
    l = s.leader[f]
    if is_open(s, f, l):
        s.sent_up[f][l] = s.sent_up[f][l] + 1
    if not is_open(s, f, l) or seldom(s, LOSSY, f, l, s.sent_up[f][l]):
        drop(s, f, l, m)
        if is_open(s, f, l):
            step_taken(s, DROP_TO_LEADER, l, f, s.sent_up[f][l])
    else:
        for _ in range(2 if seldom(s, DUPLICATING, f, l, s.sent_up[f][l]) else 1):
            s.arrives_up[f][l] = arrival(s, f, l, s.arrives_up[f][l])
            address(s, post(s, s.arrives_up[f][l], f, m), f, l, UP, s.sent_up[f][l])


def send_to_follower(s: State, l: Node, f: Node, m: AnyMessage) -> None:
    """Send m from a leader to follower f."""
    if is_open(s, f, l):
        s.sent_down[f][l] = s.sent_down[f][l] + 1
    if not is_open(s, f, l) or seldom(s, LOSSY, l, f, s.sent_down[f][l]):
        drop(s, l, f, m)
        if is_open(s, f, l):
            step_taken(s, DROP_TO_FOLLOWER, f, l, s.sent_down[f][l])
    else:
        for _ in range(2 if seldom(s, DUPLICATING, l, f, s.sent_down[f][l]) else 1):
            s.arrives_down[f][l] = arrival(s, l, f, s.arrives_down[f][l])
            address(s, post(s, s.arrives_down[f][l], l, m), f, l, DOWN_WAY, s.sent_down[f][l])


def arrival(s: State, source: Node, target: Node, last: int) -> int:
    """Return when a message sent now arrives: not before the one sent before it, except on unordered channels."""
    if s.sim_scripted:
        return HELD
    time = s.sim_moment + s.sim_least_delay + drawn(s, source, target, s.sim_delays)
    return time if s.sim_order == UNORDERED else max(last, time)


def seldom(s: State, order: int, source: Node, target: Node, number: int) -> bool:
    """Return whether a message suffers the rare fault of a network of that order: it is lost, or sent twice."""
    if s.sim_scripted or s.sim_order != order:
        return False
    word = splitmix64(s.sim_seed ^ s.sim_moment ^ (number << 40) ^ (source << 60) ^ (target << 56))
    return unsigned_rem(word, SELDOM) == 0


def address(s: State, slot: int, f: Node, l: Node, way: int, number: int) -> None:
    """Write the envelope."""
    s.sim_flight[slot].follower = f
    s.sim_flight[slot].leader = l
    s.sim_flight[slot].way = way
    s.sim_flight[slot].connection = s.connection[f][l]
    s.sim_flight[slot].number = number


def drop(s: State, p: Node, q: Node, m: AnyMessage) -> None:
    """Lose a message; listeners observe the call."""


def disconnect(s: State, p: Node) -> None:
    """Close process p's end of the connection it opened, and as a leader of all it accepted."""
    l = s.leader[p]
    if l >= 0:
        close_follower_end(s, p, l)
    if s.role[p] == LEADING:
        close_accepted(s, p)


def close_follower_end(s: State, f: Node, l: Node) -> None:
    """Close the follower's end; the leader's end gets a notice unless it does not lead or is the same process."""
    s.follower_end[f][l] = False
    if s.leader_end[f][l]:
        if f == l or s.role[l] != LEADING:
            s.leader_end[f][l] = False
        else:
            notify(s, f, l, NOTICE_UP)


def close_opened(s: State, f: Node) -> None:
    """Close process f's end of whatever it opened, also to a process that it no longer follows."""
    for l in range(s.NODES):
        if s.follower_end[f][l]:
            close_follower_end(s, f, l)


def close_accepted(s: State, l: Node) -> None:
    """Close process l's end of every connection that another process opened to it."""
    for f in range(s.NODES):
        if f != l and s.leader_end[f][l]:
            s.leader_end[f][l] = False
            if s.follower_end[f][l]:
                notify(s, f, l, NOTICE_DOWN)


def notify(s: State, f: Node, l: Node, way: int) -> None:
    """Post the notice of a loss; what arrives over the connection after it is thrown away."""
    arrives = HELD if s.sim_scripted else s.sim_moment + s.sim_least_delay + drawn(s, f, l, s.sim_delays)
    address(s, post(s, arrives, f if way == NOTICE_UP else l, s.sim_no_message), f, l, way, 0)


# --- losing connections --------------------------------------------------------------------------


def lose_link(s: State, f: Node, l: Node) -> None:
    """Cut the connection of f to l, if it is open.

    An end at a process that does not lead reads nothing, and closes at once.
    """
    if f != l and is_open(s, f, l):
        if s.role[l] == LEADING:
            s.cut[f][l] = True
            notify(s, f, l, NOTICE_UP)
        else:
            s.leader_end[f][l] = False
        notify(s, f, l, NOTICE_DOWN)
        step_taken(s, LOSE_CONNECTION, f, l, 0)


def link_cut(s: State, a: Node, b: Node) -> None:
    """Cut the connections of a and b, since a connection needs both directions."""
    lose_link(s, a, b)
    lose_link(s, b, a)


def link_healed(s: State, a: Node, b: Node) -> None:
    """Do nothing: new connections may open, and old ones are not affected."""


def links_of_crashed(s: State, p: Node) -> None:
    """Close both ends of every connection that p has open."""
    disconnect(s, p)
    close_opened(s, p)
    close_accepted(s, p)


# --- mail ------------------------------------------------------------------------------------------


def deliver_due(s: State) -> None:
    """Deliver what is due, in the heap's order; what its end cannot take yet waits a tick."""
    while s.sim_queued > 0 and time_of(s.sim_queue[0]) <= s.sim_moment:
        word = take_out(s, 0)
        slot = slot_of(word)
        f = s.sim_flight[slot].follower
        l = s.sim_flight[slot].leader
        way = s.sim_flight[slot].way
        if way == DATAGRAM:
            deliver_datagram(s, slot)
            release(s, slot)
        elif s.sim_flight[slot].connection != s.connection[f][l] and not outlasts(s, f, l, way):
            release(s, slot)  # of an older connection
        elif way == UP and s.leader_end[f][l]:
            deliver_up(s, word, f, l)
        elif way == DOWN_WAY and s.follower_end[f][l]:
            deliver_down(s, word, f, l)
        elif outlasts(s, f, l, way):
            push(s, word + TICK)
        elif way == NOTICE_DOWN and s.follower_end[f][l] and not reads(s, f, l):
            push(s, word + TICK)
        elif way == NOTICE_UP and s.leader_end[f][l] and not leads(s, l):
            push(s, word + TICK)
        else:
            release(s, slot)
            if way == NOTICE_UP and s.leader_end[f][l]:
                leader_learns(s, l, f)
            elif way == NOTICE_DOWN and s.follower_end[f][l]:
                follower_learns(s, f, l)


def deliver_datagram(s: State, slot: int) -> None:
    """Deliver a message that belongs to no connection; only elections have such messages."""


def deliver_up(s: State, word: int, f: Node, l: Node) -> None:
    """Deliver a message to the leader's end."""
    slot = slot_of(word)
    number = s.sim_flight[slot].number
    if leads(s, l) and in_turn(s, number, s.taken_up[f][l]) and receivable(s, l, f, s.sim_flight[slot]):
        s.taken_up[f][l] = max(number, s.taken_up[f][l])
        receive_as_leader(s, l, f, s.sim_flight[slot])
        step_taken(s, TO_LEADER, l, f, slot)
        after_event(s)
        release(s, slot)
    else:
        push(s, word + TICK)


def deliver_down(s: State, word: int, f: Node, l: Node) -> None:
    """Deliver a message to the follower's end."""
    slot = slot_of(word)
    number = s.sim_flight[slot].number
    if reads(s, f, l) and in_turn(s, number, s.taken_down[f][l]):
        s.taken_down[f][l] = max(number, s.taken_down[f][l])
        receive_as_follower(s, f, s.sim_flight[slot])
        step_taken(s, TO_FOLLOWER, f, l, slot)
        after_event(s)
        release(s, slot)
        if s.crash_at > 0:  # the script lets it crash inside the handler
            s.crash_at = 0
            links_of_crashed(s, f)
            on_crash(s, f)
            went_down(s, f)
            after_event(s)
    else:
        push(s, word + TICK)


def leads(s: State, l: Node) -> bool:
    """Return whether l reads the connections that it accepted; a process that is down or does not lead does not."""
    return s.role[l] == LEADING and not is_down(s, l)


def reads(s: State, f: Node, l: Node) -> bool:
    """Return whether f reads its connection to l now; one that follows another process may have left it open."""
    return not is_down(s, f) and s.role[f] != ELECTION and s.leader[f] == l and may_receive(s, f)


def in_turn(s: State, number: int, taken: int) -> bool:
    """Return whether an end takes a message now, by its number and the last one it took."""
    if s.sim_order == FIFO or s.sim_order == STALE:
        return number == taken + 1
    if s.sim_order == DUPLICATING:
        return number == taken + 1 or number == taken
    return number > taken or s.sim_order == UNORDERED


def leader_learns(s: State, l: Node, f: Node) -> None:
    """Let leader l learn that its connection with f is lost."""
    s.leader_end[f][l] = False
    on_follower_lost(s, l, f)
    step_taken(s, LEADER_LEARNS, l, f, 0)
    after_event(s)


def follower_learns(s: State, f: Node, l: Node) -> None:
    """Let process f learn that its connection to its leader is lost; its handler closes it."""
    on_leader_lost(s, f)
    step_taken(s, FOLLOWER_LEARNS, f, l, 0)
    after_event(s)


# --- time ------------------------------------------------------------------------------------------


def fire_timers(s: State, p: Node) -> None:
    """Fire the timers of process p.

    In ELECTION the oracle answers; in Phases 1 and 2 a process gives up after some time. Later a process relies on its
    connection.
    """
    if s.role[p] == ELECTION and not is_down(s, p):
        if s.sim_moment >= s.oracle_due[p]:
            ask_oracle(s, p)
    elif not is_down(s, p) and s.sim_moment >= s.sim_deadline[p]:
        if recovering(s, p):
            time_out(s, p)
        else:
            s.sim_deadline[p] = HELD


def ask_oracle(s: State, p: Node) -> None:
    """Ask the oracle, which names the same leader to all for a while; a leader that p cannot reach is tried later."""
    l = oracle(s, p)
    unreachable = s.follower_end[p][l] or s.leader_end[p][l] or s.sim_blocked[p][l] or s.sim_blocked[l][p]
    if unreachable or not oracle_may_name(s, p, l):
        s.oracle_due[p] = s.sim_moment + 1
    else:
        s.sim_deadline[p] = HELD if s.sim_scripted else s.sim_moment + RECOVERY_TICKS + drawn(s, p, 0, RECOVERY_TICKS)
        s.oracle_due[p] = HELD if s.sim_scripted else s.sim_moment + ORACLE_TICKS + drawn(s, p, 1, ORACLE_TICKS)
        on_oracle(s, p, l)
        step_taken(s, ORACLE, p, l, 0)
        after_event(s)


def oracle(s: State, p: Node) -> int:
    """Return the leader that the oracle of p names: the script's, or one drawn for the term."""
    if s.sim_scripted:
        return s.sim_client
    return unsigned_rem(splitmix64(s.sim_seed ^ (s.sim_moment // ORACLE_TERM)), s.NODES)


def time_out(s: State, p: Node) -> None:
    """Let process p time out."""
    if (s.role[p] != ELECTION and not is_down(s, p)) and may_time_out(s, p):
        s.sim_deadline[p] = HELD
        on_timeout(s, p)
        step_taken(s, TIMEOUT, p, 0, 0)
        after_event(s)


def serves(s: State, p: Node) -> bool:
    """Return whether p leads."""
    return s.role[p] == LEADING
