"""Define the timed world, in the kernel language: a clock in nanoseconds, and one interface and disk per server.

It plays Phase 3 alone, by `zab`'s own handlers: l.3.1, f.3.2, l.3.2 and f.3.3. The first server leads an epoch that is
established, and all others are in Q (`start`; a test compares that with what recovery leaves). Connections are FIFO. A
server's interface sends one message after another; a message to oneself takes none of it. What a process sends after it
has accepted a proposal waits until that is forced to its disk. While a disk forces, what else is accepted gathers for
the next time (group commit).
"""

from __future__ import annotations

from zabspec.language import NODE, Bool, Field, Int, MessageUnion, NodeId, Role
from zabspec.language.layout.wrapping import unsigned_rem, wrap_add
from zabspec.language.python.lang import AnyMessage, History, Node, State, Txn
from zabspec.simulator.mail import splitmix64
from zabspec.worlds.actor import may_abcast, on_abcast
from zabspec.zab import ACK, BROADCAST, COMMIT, ESTABLISHED, FOLLOWING, LEADING, PROPOSE, f_3_2, f_3_3, l_3_2

NEVER = 2**62  # a time that does not come
RING = 16_384  # messages that may be on their way from one process to another: a proposal and a commit an operation
EPOCH = 1  # the epoch that is established

DOWN_WAY, UP_WAY, DISK = 0, 1, 2  # what happens next: a follower receives, its leader receives, a disk is done


def timed_fields(nodes: int, message: MessageUnion, operations: int) -> tuple[Field, ...]:
    """Return the fields of the clock, the interfaces, the disks, what is in flight, and the times of broadcasts."""
    net = Role.NETWORK
    time = Int(0, NEVER)
    count = Int(0, operations)
    ring = Int(0, RING)
    way = (NODE, RING)
    return (
        Field("MAJORITY", Int(1, nodes), Role.ENVIRONMENT, (), "of the servers there are, or all of them"),
        Field("servers", Int(0, nodes), net, (), "how many there are"),
        Field("seed", Int(-(2**63), 2**63 - 1), net, (), "state of the random numbers"),
        Field("draws", Int(0, 2**40), net, (), "how many random numbers were taken"),
        Field("now", time, net, (), "nanoseconds since the first broadcast"),
        Field("operations", count, net, (), "operations in the run"),
        Field("client", NodeId.of(nodes), net, (), "the server whose clients make them"),
        Field("requested", count, net, (), "operations requested there"),
        Field("outstanding", count, net, (), "how many may be undelivered"),
        Field("abcasts", count, net, (), "operations broadcast"),
        Field("delivered", count, net, (), "operations that the client's server has delivered"),
        Field("began", time, net, (operations,), "when each was requested"),
        Field("ended", time, net, (operations,), "when the client's server delivered it"),
        Field("one_way", time, net, (), "what a message takes from one interface to another"),
        Field("jitter", time, net, (), "and as much more at most"),
        Field("slow", Int(0, nodes), net, (), "how many of the servers, the last ones, are slow"),
        Field("slow_by", time, net, (), "what a message to a slow server, or from it, takes besides"),
        Field("proposal_time", time, net, (), "what the interface takes to send a proposal"),
        Field("small_time", time, net, (), "what it takes to send another message"),
        Field("read_time", time, net, (), "what it takes, for each write, to answer the reads at a server"),
        Field("interface_free", time, net, (NODE,), "when the interface has sent what it has"),
        Field("interface_busy", time, net, (NODE,), "how long it has been sending"),
        Field("down", message, net, way, "on their way from the leader, in a ring"),
        Field("down_at", time, net, way, "when each arrives"),
        Field("down_first", ring, net, (NODE,), "where the first is"),
        Field("down_count", ring, net, (NODE,), "how many there are"),
        Field("up", message, net, way, "on their way to the leader"),
        Field("up_at", time, net, way, "when each arrives"),
        Field("up_first", ring, net, (NODE,), "where the first is"),
        Field("up_count", ring, net, (NODE,), "how many there are"),
        Field("disk", Bool(), net, (), "there are disks"),
        Field("force_time", time, net, (), "what forcing takes at least"),
        Field("force_spread", time, net, (), "and as much more at most"),
        Field("write_time", time, net, (), "what an operation takes besides"),
        Field("written", Bool(), net, (), "the handler that runs has accepted something"),
        Field("held", message, net, way, "what waits for the disk, in a ring"),
        Field("held_first", ring, net, (NODE,), "where the first is"),
        Field("held_count", ring, net, (NODE,), "how many there are"),
        Field("forcing", ring, net, (NODE,), "how many of them are being written"),
        Field("disk_done", time, net, (NODE,), "when they are; 0: the disk is idle"),
        Field("disk_busy", time, net, (NODE,), "how long it has been writing"),
        Field("forced", Int(0, 2**40), net, (NODE,), "how often it has forced"),
        Field("event_process", NodeId.of(nodes), net, (), "to whom the next event happens"),
    )


def start(s: State) -> None:
    """Set up every server in Phase 3 of one epoch led by the first; nothing has been broadcast in it."""
    for p in range(s.NODES):
        if p < s.servers:
            s.promised_epoch[p] = EPOCH
            s.current_epoch[p] = EPOCH
            s.role[p] = LEADING if p == 0 else FOLLOWING
            s.leader[p] = 0
            s.phase[p] = BROADCAST
            s.Q[0].add(p)
    s.ready[0] = True
    s.stage[0] = ESTABLISHED
    s.new_epoch[0] = EPOCH


def run(s: State, events: int) -> int:
    """Run up to some number of events; return how many there were.

    Fewer means that all that was broadcast is delivered, or that there was an error.
    """
    done = 0
    while done < events and s.delivered < s.operations and s.error == 0:
        while s.requested < s.operations and s.requested - s.delivered < s.outstanding and may_abcast(s, 0):
            request(s)
        happen(s, next_event(s))
        done = done + 1
    return done


def next_event(s: State) -> int:
    """Return the next event, with its process in `event_process`, and advance the clock to it."""
    at = NEVER
    what = DISK
    for p in range(s.NODES):
        if s.down_count[p] > 0 and s.down_at[p][s.down_first[p]] < at:
            at = s.down_at[p][s.down_first[p]]
            what = DOWN_WAY
            s.event_process = p
        if s.up_count[p] > 0 and s.up_at[p][s.up_first[p]] < at:
            at = s.up_at[p][s.up_first[p]]
            what = UP_WAY
            s.event_process = p
        if s.disk_done[p] > 0 and s.disk_done[p] < at:
            at = s.disk_done[p]
            what = DISK
            s.event_process = p
    s.now = at
    return what


def happen(s: State, what: int) -> None:
    """Take the next event: a message of Phase 3 is received, or a disk is done."""
    p = s.event_process
    s.written = False
    if what == DOWN_WAY:
        k = s.down_first[p]
        s.down_first[p] = after(k)
        s.down_count[p] = s.down_count[p] - 1
        if s.down[p][k].kind == PROPOSE:
            f_3_2(s, p, s.down[p][k])
            if p != s.leader[p]:
                answer_reads(s, p)
        elif s.down[p][k].kind == COMMIT:
            f_3_3(s, p, s.down[p][k])
        begin_forcing(s, p)
    elif what == UP_WAY:
        k = s.up_first[p]
        s.up_first[p] = after(k)
        s.up_count[p] = s.up_count[p] - 1
        if s.up[p][k].kind == PROPOSE:
            broadcast(s)
        elif s.up[p][k].kind == ACK:
            l_3_2(s, s.leader[p], p, s.up[p][k])
    else:
        disk_is_done(s, p)


def after(place: int) -> int:
    """Return the next place of a ring."""
    return place + 1 if place + 1 < RING else 0


def place_in(first: int, count: int) -> int:
    """Return the place in a ring for the next message."""
    return first + count if first + count < RING else first + count - RING


def drawn(s: State, most: int) -> int:
    """Return a random number of 0..most."""
    s.draws = s.draws + 1
    return unsigned_rem(splitmix64(wrap_add(splitmix64(s.seed), s.draws)), most + 1)


# --- clients -------------------------------------------------------------------------------------


def request(s: State) -> None:
    """Take a client's next operation: a follower forwards it, as a PROPOSE without a zxid."""
    s.began[s.requested] = s.now
    s.requested = s.requested + 1
    if s.client == 0:
        broadcast(s)
    else:
        send_up(s, s.client, PROPOSE(epoch=EPOCH, txn=Txn(epoch=0, counter=0, value=0)))


def broadcast(s: State) -> None:
    on_abcast(s, 0)
    answer_reads(s, 0)


def answer_reads(s: State, p: Node) -> None:
    """Occupy the interface of p with the answers to the reads that come to it with each write."""
    s.interface_free[p] = max(s.now, s.interface_free[p]) + s.read_time
    s.interface_busy[p] = s.interface_busy[p] + s.read_time


# --- the network ---------------------------------------------------------------------------------


def sent(s: State, p: Node, f: Node, takes: int) -> int:
    """Return when a message that p sends now arrives, unless an earlier one is later; f is the follower of the two."""
    departs = max(s.now, s.interface_free[p]) + takes
    s.interface_free[p] = departs
    s.interface_busy[p] = s.interface_busy[p] + takes
    return departs + s.one_way + drawn(s, s.jitter) + (s.slow_by if f >= s.servers - s.slow else 0)


def send_to_follower(s: State, l: Node, f: Node, m: AnyMessage) -> None:
    """Send m from the leader to follower f."""
    arrives = s.now
    if f != l:
        arrives = sent(s, l, f, s.proposal_time if m.kind == PROPOSE else s.small_time)
    k = place_in(s.down_first[f], s.down_count[f])
    if s.down_count[f] > 0:
        arrives = max(arrives, s.down_at[f][k - 1 if k > 0 else RING - 1])
    s.down[f][k] = m
    s.down_at[f][k] = arrives
    s.down_count[f] = s.down_count[f] + 1


def send_to_leader(s: State, f: Node, m: AnyMessage) -> None:
    """Send m from the follower to its leader, once what it has accepted in this handler is forced."""
    if s.written and s.disk:
        s.held[f][place_in(s.held_first[f], s.held_count[f])] = m
        s.held_count[f] = s.held_count[f] + 1
    else:
        send_up(s, f, m)


def send_up(s: State, f: Node, m: AnyMessage) -> None:
    """Send the follower's message to its leader now."""
    arrives = s.now
    if f != s.leader[f]:
        arrives = sent(s, f, f, s.proposal_time if m.kind == PROPOSE else s.small_time)
    k = place_in(s.up_first[f], s.up_count[f])
    if s.up_count[f] > 0:
        arrives = max(arrives, s.up_at[f][k - 1 if k > 0 else RING - 1])
    s.up[f][k] = m
    s.up_at[f][k] = arrives
    s.up_count[f] = s.up_count[f] + 1


# --- the disk ------------------------------------------------------------------------------------


def begin_forcing(s: State, p: Node) -> None:
    """Let an idle disk begin to force all that has gathered."""
    if s.held_count[p] > 0 and s.disk_done[p] == 0:
        s.forcing[p] = s.held_count[p]
        takes = s.force_time + drawn(s, s.force_spread) + s.write_time * s.forcing[p]
        s.disk_done[p] = s.now + takes
        s.disk_busy[p] = s.disk_busy[p] + takes
        s.forced[p] = s.forced[p] + 1


def disk_is_done(s: State, p: Node) -> None:
    """Finish a forced write: release what waited for it, and continue with what has gathered."""
    for _ in range(s.forcing[p]):
        send_up(s, p, s.held[p][s.held_first[p]])
        s.held_first[p] = after(s.held_first[p])
        s.held_count[p] = s.held_count[p] - 1
    s.forcing[p] = 0
    s.disk_done[p] = 0
    begin_forcing(s, p)


# --- what is observed ----------------------------------------------------------------------------


def abcast(s: State, p: Node, epoch: int, counter: int) -> Txn:
    """Broadcast the client's next operation."""
    s.abcasts = s.abcasts + 1
    return Txn(epoch=epoch, counter=counter, value=s.abcasts)


def abdeliver(s: State, p: Node, t: Txn) -> None:
    """Record the end of an operation when the client's server delivers it."""
    if p == s.client:
        s.ended[t.value - 1] = s.now
        s.delivered = s.delivered + 1


def accept(s: State, p: Node, epoch: int, t: Txn) -> None:
    """Mark the handler as writing: what is accepted has to be on stable storage before it is acknowledged (II)."""
    s.written = True


def establish(s: State, epoch: int, initial: History) -> None:
    """Do nothing: nothing is established in Phase 3."""


def end_pass(s: State, p: Node) -> None:
    """Do nothing: no process gives up."""


def end_synchronization(s: State, p: Node) -> None:
    """Do nothing: no process synchronizes."""
