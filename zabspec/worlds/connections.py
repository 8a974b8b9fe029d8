"""Define the world of connections: FIFO channels that live and die with their connection.

A follower opens a connection to its leader and has one at a time. Each connection has a channel in either direction.
When it is lost, each end may still receive what had been sent to it, from the front, until it learns of the loss:
whatever it has not received by then is gone. So the lost suffix is chosen when the end learns, not when the connection
breaks; the runs are the same and the states fewer. What is sent into a lost connection is lost.

A protocol has a leader oracle, or its elections are one step of the world: a leader and a quorum in which it is
maximal, by fields that the protocol names (`emit_elections`). The others of a larger quorum join (`may_join`).

A new connection between the same two processes opens when both ends have learned of the loss of the one before
(`docs/explanation/readings.md`: reconnection), so nothing of the old one arrives after, except on a stale network.

This module also has the untimed world's steps: which are possible in a state (`enabled`) and what each does (`apply`).
The kinds of step are rows of `worlds/steps.py`.
"""

from __future__ import annotations

from zabspec.authoring.declaration import OneOf
from zabspec.language import NODE, Field, MessageUnion, Role, Seq
from zabspec.language.python.lang import NOBODY, AnyMessage, Node, State, Words, is_quorum
from zabspec.worlds.actor import (
    ELECTION,
    FOLLOWING,
    LEADING,
    abcasts_left,
    begin_at,
    breaks_off,
    came_up,
    durable_points,
    elections_left,
    end_inside,
    fill_budgets,
    fill_power_losses,
    is_down,
    its_turn_in,
    lose_power,
    may_abcast,
    may_act,
    may_change,
    may_fail,
    may_fail_electing,
    may_lead,
    may_lose_all,
    may_receive,
    may_time_out,
    may_vote,
    on_abcast,
    on_act,
    on_change,
    on_crash,
    on_elected,
    on_follow,
    on_follower_lost,
    on_leader_lost,
    on_oracle,
    on_recovery,
    on_start,
    on_timeout,
    oracle_may_name,
    outage,
    outranks,
    receivable,
    receive_as_follower,
    receive_as_leader,
    spend_election,
    went_down,
)
from zabspec.worlds.crash_within import (
    begin_broken_off,
    kind_broken_off,
    offer,
    offer_action,
    offer_with,
    peer_broken_off,
    process_broken_off,
    which_broken_off,
)
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
    CRASH_IN_RECEIPT,
    DROP_TO_FOLLOWER,
    DROP_TO_LEADER,
    ELECT,
    ENVIRONMENT,
    FOLLOWER_LEARNS,
    FOLLOWER_LOSES,
    JOIN,
    LEADER_LEARNS,
    LEADER_LOSES,
    LOSE_CONNECTION,
    NOBODYS,
    ORACLE,
    OUTAGE,
    PARTITION,
    PEERS,
    POWER_LOSS,
    RECOVER,
    REPEAT_TO_FOLLOWER,
    REPEAT_TO_LEADER,
    TIMEOUT,
    TO_FOLLOWER,
    TO_LEADER,
)

# The state of a connection, by which ends still have something to learn.
NONE, OPEN, LOST, LEADER_OPEN, FOLLOWER_OPEN = 0, 1, 2, 3, 4

# The networks. FIFO is the paper's (II); the others break its assumptions.
FIFO, LOSSY, UNORDERED, DUPLICATING, STALE = 0, 1, 2, 3, 4

# Pairs that may be swapped although they touch the same connection: functions of this module by their names, what a
# kind of step does to the network by itself by the kind's, and `closed`, the role of a process that has closed its
# connections. Each pair is tested on every state of a connection (`tests/worlds/test_commuting.py`); reductions.md says
# why.
COMMUTE = (
    ("send_to_leader", "to_leader"),  # a message is appended, another taken
    ("send_to_leader", "send_to_follower"),  # either way has a channel of its own
    ("send_to_leader", "close_accepted"),  # what is sent before is gone, what is sent after is lost
    ("send_to_leader", "leader_learns"),
    ("send_to_follower", "to_follower"),
    ("send_to_follower", "disconnect"),
    ("disconnect", "close_accepted"),  # each closes its end
    ("disconnect", "leader_learns"),
    ("disconnect", "closed"),
    ("follower_learns", "close_accepted"),  # there is something to learn before and after
    ("follower_learns", "leader_learns"),
    ("accept", "accept"),  # of the history: who accepted what, and the least epoch with a quorum, if quorums only grow
    ("establish", "establish"),  # counted as far as two, and the greatest epoch that lacks it
)
# The same, but only where two processes take the steps: what one sends to a follower in two steps has an order, and one
# that follows itself has nothing to take from the connection that it has closed.
COMMUTE_APART = (
    ("send_to_follower", "send_to_follower"),  # of two leaders, one has an open connection to that follower
    ("to_leader", "disconnect"),  # what was sent to the leader before stays
)


def connected_as_followed(s: State) -> bool:
    """Return whether each process has an open end only of the connection to the one that it follows.

    This is where the declarations in COMMUTE are true.
    """
    for f in range(s.NODES):
        for l in range(s.NODES):
            if s.link[f][l] == NONE or s.link[f][l] == LEADER_OPEN:
                if s.leader[f] == l:
                    return False
            elif s.leader[f] != l:
                return False
    return True


def on_its_own(s: State, p: Node) -> bool:
    """Return whether p's next steps concern no other process until p has taken them.

    This holds if p is down, or the leader that it follows has closed its end, and it has no fault left to meet. Then
    nothing is sent to p, no other process changes its end of the connection, and it closes that end in one way whatever
    its leader has become.
    """
    if is_down(s, p):
        return True
    l = s.leader[p]
    if s.role[p] != FOLLOWING or l == NOBODY or l == p:
        return False
    return s.link[p][l] == FOLLOWER_OPEN and s.timeouts_left == 0 and s.crashes_left == 0


def remaining_work(s: State) -> int:
    """Return the maximum number of steps of processes that `on_its_own` selects, until it selects none."""
    left = 0
    for p in range(s.NODES):
        if on_its_own(s, p):
            left = left + 1 + len(s.to_follower[p])
    return left


def connection_fields(message: MessageUnion, up: int, down: int, network: int) -> tuple[Field, ...]:
    """Return the network's fields.

    Args:
        message: the messages.
        up, down: the capacities of a channel, in messages.
        network: the network; on a stale one, what was not received when a follower's end closed is kept.
    """
    net = Role.NETWORK
    left = "what a leader (second index) sent a follower over connections whose end the follower has closed"
    return (
        Field(
            "link", OneOf("NONE", "OPEN", "LOST", "LEADER_OPEN", "FOLLOWER_OPEN"), net, (NODE, NODE),
            "the connection of a follower (first index) to a leader",
        ),
        Field("to_leader", Seq(message, up, "--channel"), net, (NODE, NODE), "in flight from follower to leader"),
        Field("to_follower", Seq(message, down, "--channel"), net, (NODE,), "in flight from its leader to a follower"),
        *([Field("stale", Seq(message, down, "--channel"), net, (NODE, NODE), left)] if network == STALE else []),
    )  # fmt: skip


def initialize(s: State) -> None:
    """Set the initial state: every process in ELECTION with empty history, no connection, all budgets full."""
    s.timeouts_left = s.TIMEOUTS
    s.crashes_left = s.CRASHES
    s.losses_left = s.LOSSES
    s.partitions_left = s.PARTITIONS
    s.drops_left = s.DROPS
    s.duplicates_left = s.DUPLICATES
    fill_budgets(s)
    fill_power_losses(s)
    for p in range(s.NODES):
        on_start(s, p)
    begin_at(s)


# --- what the world provides to handlers -------------------------------------------------------


def connect(s: State, f: Node, l: Node) -> None:
    """Open a connection of follower f to l."""
    take_stale(s, f, l)
    s.link[f][l] = OPEN


def take_stale(s: State, f: Node, l: Node) -> None:
    """On a stale network, let the first messages of earlier connections of f to l arrive on the one that opens.

    Any number of them does, in either direction; the others are lost.
    """
    if s.NETWORK == STALE:
        up = choose(s, len(s.to_leader[f][l]) + 1)
        for _ in range(s.UP):
            if len(s.to_leader[f][l]) > up:
                s.to_leader[f][l].pop()
        s.to_follower[f] = s.stale[f][l]
        s.stale[f][l].clear()
        down = choose(s, len(s.to_follower[f]) + 1)
        for _ in range(s.DOWN):
            if len(s.to_follower[f]) > down:
                s.to_follower[f].pop()


def close_up(s: State, f: Node, l: Node) -> None:
    """Lose what is in flight from f to l, whose end closes; a stale network keeps it."""
    if s.NETWORK != STALE or f == l:
        s.to_leader[f][l].clear()


def close_down(s: State, f: Node, l: Node) -> None:
    """Lose what is in flight to f, which closes its end of a connection to l; a stale network keeps it."""
    if s.NETWORK == STALE:
        if f != l and s.link[f][l] != NONE and s.link[f][l] != LEADER_OPEN:
            s.stale[f][l] = s.to_follower[f]
    s.to_follower[f].clear()


def disconnect(s: State, p: Node) -> None:
    """Close process p's end of the connection it opened, and as a leader of all it accepted."""
    l = s.leader[p]
    if l != NOBODY:
        close_down(s, p, l)
        if s.link[p][l] == FOLLOWER_OPEN or l == p or s.role[l] != LEADING:
            s.link[p][l] = NONE
            close_up(s, p, l)
        elif s.link[p][l] != NONE:  # what is closed already stays so
            s.link[p][l] = LEADER_OPEN
    if s.role[p] == LEADING:
        close_accepted(s, p)


def close_accepted(s: State, l: Node) -> None:
    """Close process l's end of every connection that another process opened to it."""
    for f in range(s.NODES):
        if f != l:
            close_up(s, f, l)
            if s.link[f][l] == OPEN or s.link[f][l] == LOST:
                s.link[f][l] = FOLLOWER_OPEN
            elif s.link[f][l] == LEADER_OPEN:
                s.link[f][l] = NONE


def send_to_leader(s: State, f: Node, m: AnyMessage) -> None:
    """Send m from a follower to the leader it follows."""
    l = s.leader[f]
    if s.link[f][l] == OPEN:
        s.to_leader[f][l].append(m)


def send_to_follower(s: State, l: Node, f: Node, m: AnyMessage) -> None:
    """Send m from a leader to follower f."""
    if s.link[f][l] == OPEN:
        s.to_follower[f].append(m)


# --- the steps that are possible ---------------------------------------------------------------


def enabled(s: State, out: Words) -> None:
    """List every step possible in s, in a fixed order."""
    no_steps(out)
    list_all(s, out)


def list_all(s: State, out: Words) -> None:
    """Append every step possible in s to those listed already."""
    for p in range(s.NODES):
        if is_down(s, p):
            offer(s, out, RECOVER, p)
        else:
            if s.role[p] == ELECTION:
                if s.ELECTS == 0:
                    for l in range(s.NODES):
                        if s.link[p][l] == NONE and oracle_may_name(s, p, l):
                            offer_with(s, out, ORACLE, p, l, 0)
                else:
                    enabled_at_elector(s, out, p)
            else:
                if s.leader[p] != NOBODY:
                    enabled_at_follower(s, out, p)
                if s.role[p] == LEADING:
                    enabled_at_leader(s, out, p)
                if s.timeouts_left > 0 and may_time_out(s, p):
                    offer(s, out, TIMEOUT, p)
            if s.crashes_left > 0:
                offer_crash(s, out, p)
            may_fail(s, out, p)
            for k in range(s.ACTIONS):
                if may_act(s, p, k):
                    offer_action(s, out, p, k)
    if s.partitions_left > 0:
        emit_cuts(s, out)
    for k in range(s.CHANGES):
        if may_change(s, k):
            emit_nobodys(out, ENVIRONMENT, k)
    may_lose_all(s, out)


def enabled_at_elector(s: State, out: Words, p: Node) -> None:
    """List the steps of a process that looks for a leader, where elections are a step: elections, and joining."""
    if may_vote(s, p):
        if elections_left(s):
            emit_elections(s, out, p)
        for l in range(s.NODES):
            if s.link[p][l] == NONE and may_join(s, l):
                offer_with(s, out, JOIN, p, l, 0)


def emit_elections(s: State, out: Words, l: Node) -> None:
    """List every smallest quorum that may elect l, by its other members; members of a larger one join."""
    for quorum in range(2**s.NODES):
        if is_smallest_quorum(s, l, quorum) and may_lead(s, l) and may_elect(s, l, quorum):
            emit_which(out, ELECT, l, quorum)
            may_fail_electing(s, out, l, quorum)


def is_smallest_quorum(s: State, l: Node, others: int) -> bool:
    """Return whether these others and l are a quorum, and no quorum without any one of the others."""
    if (others >> l) & 1 == 1 or not is_quorum(s, others | (1 << l)):
        return False
    for f in range(s.NODES):
        if (others >> f) & 1 == 1 and is_quorum(s, (others | (1 << l)) - (1 << f)):
            return False
    return True


def may_elect(s: State, l: Node, quorum: int) -> bool:
    """Return whether these processes look for a leader and can reach l, and none of them outranks it."""
    for f in range(s.NODES):
        if (quorum >> f) & 1 == 1:
            looks = f != l and not is_down(s, f) and s.role[f] == ELECTION
            if not looks or s.link[f][l] != NONE or not may_vote(s, f) or not outranks(s, l, f):
                return False
    return True


def may_join(s: State, l: Node) -> bool:
    """Return whether a process that looks for a leader can hear that a quorum is behind l."""
    behind = is_quorum(s, {f for f in range(s.NODES) if f == l or is_behind(s, f, l)})
    return s.role[l] == LEADING and not is_down(s, l) and behind


def is_behind(s: State, f: Node, l: Node) -> bool:
    """Return whether a process that is up follows l."""
    return not is_down(s, f) and s.role[f] == FOLLOWING and s.leader[f] == l


def elect(s: State, l: Node, quorum: int) -> None:
    """Elect l by these processes."""
    spend_election(s)
    its_turn_in(s, l)
    on_elected(s, l)
    for f in range(s.NODES):
        if (quorum >> f) & 1 == 1:
            its_turn_in(s, f)
            on_follow(s, f, l)


def enabled_at_follower(s: State, out: Words, f: Node) -> None:
    """List the steps at the follower's end of its connection."""
    read_at_follower(s, out, f)


def read_at_follower(s: State, out: Words, f: Node) -> None:
    """List the steps at the follower's end of its connection, whichever state that connection is in."""
    l = s.leader[f]
    link = s.link[f][l]
    if len(s.to_follower[f]) > 0:
        for k in range(s.REACH_DOWN):
            if k < len(s.to_follower[f]) and (k == 0 or s.NETWORK == UNORDERED):
                if may_receive(s, f):
                    offer_with(s, out, TO_FOLLOWER, f, l, k)
                if s.duplicates_left > 0 and may_receive(s, f):
                    offer_with(s, out, REPEAT_TO_FOLLOWER, f, l, k)
            if k < len(s.to_follower[f]) and s.drops_left > 0:
                emit(out, DROP_TO_FOLLOWER, f, l, k)
        if s.crashes_left > 0 and may_receive(s, f):
            for point in range(durable_points(s, s.to_follower[f][0])):
                emit(out, CRASH_IN_RECEIPT, f, l, point + 1)
    if (link == LOST or link == FOLLOWER_OPEN) and may_receive(s, f):
        offer_with(s, out, FOLLOWER_LEARNS, f, l, 0)
    if link == OPEN and f != l and s.losses_left > 0:
        offer_loss(s, out, f, l)


def offer_loss(s: State, out: Words, f: Node, l: Node) -> None:
    """List the loss of the open connection of f to l."""
    emit(out, LOSE_CONNECTION, f, l, 0)


def offer_crash(s: State, out: Words, p: Node) -> None:
    """List the crash of process p."""
    emit_alone(out, CRASH, p)


def enabled_at_leader(s: State, out: Words, l: Node) -> None:
    """List the steps at the leader's ends of its connections, and of the primary."""
    for f in range(s.NODES):
        link = s.link[f][l]
        if link == OPEN or link == LOST or link == LEADER_OPEN:
            for k in range(s.REACH_UP):
                if k < len(s.to_leader[f][l]):
                    if (k == 0 or s.NETWORK == UNORDERED) and receivable(s, l, f, s.to_leader[f][l][k]):
                        offer_with(s, out, TO_LEADER, l, f, k)
                        if s.duplicates_left > 0:
                            offer_with(s, out, REPEAT_TO_LEADER, l, f, k)
                    if s.drops_left > 0:
                        emit(out, DROP_TO_LEADER, l, f, k)
            if link != OPEN:
                offer_with(s, out, LEADER_LEARNS, l, f, 0)
    if abcasts_left(s) and may_abcast(s, l):
        offer(s, out, ABCAST, l)


def emit_cuts(s: State, out: Words) -> None:
    """List every cut that some open connection crosses, once, by its side without process 0."""
    for side in range(2 ** (s.NODES - 1) - 1):
        if cuts(s, 2 * side + 2):
            emit(out, PARTITION, 2 * side + 2, 0, 0)


def cuts(s: State, side: int) -> bool:
    """Return whether some open connection has exactly one end in `side`."""
    for f in range(s.NODES):
        for l in range(s.NODES):
            if s.link[f][l] == OPEN and ((side >> f) & 1) != ((side >> l) & 1):
                return True
    return False


# --- what a step does --------------------------------------------------------------------------


def apply(s: State, word: int) -> None:
    """Take the step: s becomes the state after it."""
    kind = (word >> 24) & 255
    a = NOBODY if (NOBODYS >> kind) & 1 == 1 else process_in(word)
    b = peer_in(word) if (PEERS >> kind) & 1 == 1 else NOBODY
    c = word & 255
    if breaks_off(kind):
        kind = kind_broken_off(word)
        a = process_broken_off(word)
        b = peer_broken_off(word)
        c = which_broken_off(word)
    begin_step(s, word, a, b)
    if breaks_off(s.event):
        begin_broken_off(s, word)
    if kind == TO_LEADER or kind == REPEAT_TO_LEADER:
        s.event_message = s.to_leader[b][a][c]
        if kind == TO_LEADER:
            s.to_leader[b][a].pop(c)
        else:
            s.duplicates_left = s.duplicates_left - 1
        receive_as_leader(s, a, b, s.event_message)
    elif kind == TO_FOLLOWER or kind == REPEAT_TO_FOLLOWER:
        s.event_message = s.to_follower[a][c]
        if kind == TO_FOLLOWER:
            s.to_follower[a].pop(c)
        else:
            s.duplicates_left = s.duplicates_left - 1
        receive_as_follower(s, a, s.event_message)
    elif kind == ORACLE:
        on_oracle(s, a, b)
    elif kind == ELECT:
        elect(s, a, c)
    elif kind == JOIN:
        on_follow(s, a, b)
    elif kind == LEADER_LEARNS:
        close_up(s, b, a)
        s.link[b][a] = FOLLOWER_OPEN if s.link[b][a] == LOST else NONE
        on_follower_lost(s, a, b)
    elif kind == FOLLOWER_LEARNS:
        on_leader_lost(s, a)
    elif kind == ABCAST:
        on_abcast(s, a)
    elif kind == PARTITION:
        s.partitions_left = s.partitions_left - 1
        part(s, (word >> 16) & 255)
    elif kind == ACTION:
        on_act(s, a, c)
    elif kind == ENVIRONMENT:
        on_change(s, c)
    else:
        apply_fault(s, kind, a, b, c)
    if breaks_off(s.event):
        end_inside(s, process_in(word))
        crash(s, process_in(word))


def part(s: State, side: int) -> None:
    """Cut the network: every open connection with exactly one end in `side` is lost."""
    for f in range(s.NODES):
        for l in range(s.NODES):
            if s.link[f][l] == OPEN and ((side >> f) & 1) != ((side >> l) & 1):
                lose(s, f, l)


def apply_fault(s: State, kind: int, a: Node, b: Node, c: int) -> None:
    """Take a step that costs a budget, or recover."""
    if kind == TIMEOUT:
        s.timeouts_left = s.timeouts_left - 1
        on_timeout(s, a)
    elif kind == CRASH:
        s.crashes_left = s.crashes_left - 1
        crash(s, a)
    elif kind == RECOVER:
        came_up(s, a)
        on_recovery(s, a)
    elif kind == LOSE_CONNECTION:
        s.losses_left = s.losses_left - 1
        lose(s, a, b)
    elif kind == FOLLOWER_LOSES:
        s.losses_left = s.losses_left - 1
        lose(s, a, b)
        on_leader_lost(s, a)
    elif kind == LEADER_LOSES:
        s.losses_left = s.losses_left - 1
        close_up(s, b, a)
        s.link[b][a] = FOLLOWER_OPEN
        on_follower_lost(s, a, b)
    elif kind == POWER_LOSS:
        lose_power(s, a, c)
        crash(s, a)
    elif kind == OUTAGE:
        outage(s)
    elif kind == DROP_TO_LEADER:
        s.drops_left = s.drops_left - 1
        s.to_leader[b][a].pop(c)
    elif kind == DROP_TO_FOLLOWER:
        s.drops_left = s.drops_left - 1
        s.to_follower[a].pop(c)
    elif kind == CRASH_IN_RECEIPT:
        s.crashes_left = s.crashes_left - 1
        s.crash_at = c
        s.event_message = s.to_follower[a][0]
        s.to_follower[a].pop(0)
        receive_as_follower(s, a, s.event_message)
        s.crash_at = 0
        crash(s, a)


def lose(s: State, f: Node, l: Node) -> None:
    """Lose the open connection of f to l.

    A process that does not lead has nothing to learn of the loss: it reads its connections only when it begins to lead.
    """
    if s.role[l] == LEADING:
        s.link[f][l] = LOST
    else:
        s.link[f][l] = FOLLOWER_OPEN
        close_up(s, f, l)


def crash(s: State, p: Node) -> None:
    """Crash process p: it loses its connections and its volatile fields."""
    disconnect(s, p)
    close_accepted(s, p)
    on_crash(s, p)
    went_down(s, p)


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
