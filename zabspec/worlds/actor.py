"""Declare what a protocol and a world provide to each other.

A program binds these names to the functions of its protocol and its world (`Program.load`); here they only state what
each means, so that the source of either can be read, and checked, without the other. A protocol uses connections
(`zab`) or datagrams (`db19`).

A world's function declares which of its parameters is the acting process. A handler passes its own process there and no
other: the front end checks this.
"""

from __future__ import annotations

from zabspec.language.python.lang import AnyMessage, History, Node, State, Txn, Words, forget, provided

# The roles a world knows.
ELECTION, FOLLOWING, LEADING, DOWN = 0, 1, 2, 3

# The timers of a process.
ELECTION_TIMER, HEARTBEAT_TIMER = 0, 1


# --- what a protocol may provide ------------------------------------------------------------------


def is_down(s: State, p: Node) -> bool:
    """Return whether process p has crashed and not started again."""
    return False


def may_abcast(s: State, p: Node) -> bool:
    """Return whether the application at p, which leads, may abcast."""
    return False


def on_abcast(s: State, p: Node) -> None:
    """Abcast a transaction of the application at p."""


def on_crash(s: State, p: Node) -> None:
    """Crash process p, whose connections are closed already; by default it forgets its volatile fields."""
    forget(s, p)


def on_recovery(s: State, p: Node) -> None:
    """Start process p again, which had crashed."""


def starts_at_once(s: State, p: Node) -> bool:
    """Return whether process p, which crashes, starts again in the same step.

    A process that looks for a leader, and never finds one, does as little as one that is down. So only the states in
    which p is down are lost.
    """
    return False


# --- over connections ----------------------------------------------------------------------------


def on_oracle(s: State, p: Node, l: Node) -> None:
    """Let the leader oracle of p, which is in ELECTION, name l."""


def may_vote(s: State, p: Node) -> bool:
    """Return whether p, which is up and in ELECTION, takes part in an election that is one step."""
    return True


def may_lead(s: State, l: Node) -> bool:
    """Return whether l, which takes part in an election that is one step, may be elected."""
    return True


def on_elected(s: State, l: Node) -> None:
    """Make l, which a quorum has elected, the leader."""


def on_follow(s: State, f: Node, l: Node) -> None:
    """Make f follow l, which it has elected with others, or which it hears that a quorum follows."""


def oracle_may_name(s: State, p: Node, l: Node) -> bool:
    """Return whether the leader oracle of p, which is in ELECTION, may name l now.

    This belongs to the world: it may look at every process, as no handler does.
    """
    return True


def receivable(s: State, p: Node, f: Node, m: AnyMessage) -> bool:
    """Return whether p takes m from f now: a message in flight, or at the head of the channel of leader p from f."""
    return True


def may_receive(s: State, f: Node) -> bool:
    """Return whether process f reads its connection now: it takes what its leader sent, or learns of a loss."""
    return True


def receive_as_leader(s: State, l: Node, f: Node, m: AnyMessage) -> None:
    """Receive m at leader l from follower f."""


def receive_as_follower(s: State, f: Node, m: AnyMessage) -> None:
    """Receive m at process f from the leader it follows."""


def on_follower_lost(s: State, l: Node, f: Node) -> None:
    """Let leader l learn that its connection with f is lost."""


def on_leader_lost(s: State, f: Node) -> None:
    """Let process f learn that its connection to its leader is lost."""


def may_time_out(s: State, p: Node) -> bool:
    """Return whether p waits for anything that a timeout would end."""
    return True


def on_timeout(s: State, p: Node) -> None:
    """Let process p time out."""


def recovering(s: State, p: Node) -> bool:
    """Return whether p is in an iteration that has not completed recovery."""
    return True


def durable_points(s: State, m: AnyMessage) -> int:
    """Return how many points inside the handler of m a crash may fall at (see `durable`)."""
    return 0


# --- over datagrams ------------------------------------------------------------------------------


def on_start(s: State, p: Node) -> None:
    """Start process p for the first time."""


def on_message(s: State, p: Node, source: Node, m: AnyMessage) -> None:
    """Receive m at process p."""


def timer_armed(s: State, p: Node, timer: int) -> bool:
    """Return whether p waits for one of its timers."""
    return False


def on_timer(s: State, p: Node, timer: int) -> None:
    """Let one of p's timers fire."""


# --- over connections, which step may as well be taken before all others (`worlds/priority.py`) ------------------


def takes_first(s: State, f: Node, m: AnyMessage) -> bool:
    """Return whether process f, which follows, may take m, the head of its channel, before anything else happens.

    Nobody sees what it does with m, it sends nothing, and whatever ends its term leads to the same state without m.
    """
    return False


def hears_first(s: State, l: Node, f: Node, m: AnyMessage) -> bool:
    """Return whether leader l may take m from f before anything else happens."""
    return False


def leaves_first(s: State, f: Node) -> bool:
    """Return whether process f may learn of its leader's closed connection before anything else happens.

    Its leader has closed the connection, and f has taken all that came.
    """
    return False


def admits_first(s: State, l: Node) -> bool:
    """Return whether a process must join leader l before l takes something first."""
    return False


def loses_when_learned(s: State) -> bool:
    """Return whether a connection is lost when the first of its ends learns of it, and not before."""
    return False


def is_changed_by_crash(s: State, p: Node) -> bool:
    """Return whether a crash of p, which starts again at once, changes more than the crash budget."""
    return True


# What a protocol may provide is above: what follows is the world's, or follows from the marks of a protocol.
HOOKS = frozenset(name for name, f in [*globals().items()] if getattr(f, "__module__", "") == __name__)


# --- between every protocol and its world ---------------------------------------------------------


def after_event(s: State) -> None:
    """Let the simulator's judge look at the state after one of several events of a tick."""


def fill_budgets(s: State) -> None:
    """Fill the budgets that the protocol declares beside the world's."""


def went_down(s: State, p: Node) -> None:
    """Record that process p has crashed, in a world that tracks crashes."""


def came_up(s: State, p: Node) -> None:
    """Start process p again, which was down."""


def may_recover(s: State, p: Node) -> bool:
    """Return whether process p, which is down, may start again."""
    return True


def begin_at(s: State) -> None:
    """Overwrite the initial values of processes with the protocol's start state, if the configuration names one."""


def may_act(s: State, p: Node, k: int) -> bool:
    """Return whether process p may take the k-th of its internal steps now (0..ACTIONS-1)."""
    return False


def on_act(s: State, p: Node, k: int) -> None:
    """Take the k-th internal step of process p."""


def crashes_spent(s: State, k: int) -> int:
    """Return how many crashes the k-th internal step of a process spends itself."""
    return 0


def power_losses_spent(s: State, k: int) -> int:
    """Return how many power losses the k-th internal step of a process spends itself."""
    return 0


def outages_spent(s: State, k: int) -> int:
    """Return how many outages the k-th internal step of a process spends itself."""
    return 0


def goes_on(s: State, k: int) -> bool:
    """Return whether the k-th internal step is one of a process's clock, which continues while the process is down."""
    return False


def on_act_every(s: State, k: int) -> int:
    """Return about how many ticks the simulator leaves between two of the k-th internal steps of a process."""
    return 8


def on_change_every(s: State, k: int) -> int:
    """Return about how many ticks the simulator leaves between two of the k-th steps of the environment."""
    return 8


def may_change(s: State, k: int) -> bool:
    """Return whether the k-th step of the environment (0..CHANGES-1), which no process takes, may happen now."""
    return False


def on_change(s: State, k: int) -> None:
    """Take the k-th step of the environment."""


def outranks(s: State, p: Node, q: Node) -> bool:
    """Return whether p's vote is no less than q's; it follows from the fields that the protocol names."""
    return True


def elections_left(s: State) -> bool:
    """Return whether there may be another election in this run."""
    return True


def spend_election(s: State) -> None:
    """Spend one election."""


def abcasts_left(s: State) -> bool:
    """Return whether the application may abcast again in this run."""
    return False


# --- of a process with disks (`worlds/storage.py`) ------------------------------------------------


def fill_power_losses(s: State) -> None:
    """Fill the budget of power losses."""


def may_fail(s: State, out: Words, p: Node) -> None:
    """List the ways to fail between steps that process p, which is up, has beside a crash."""


def may_fail_inside(s: State, out: Words, base: int, p: Node, which: int) -> None:
    """List the ways to fail within a possible step of p."""


def may_fail_inside_with(s: State, out: Words, base: int, p: Node, peer: Node, place: int) -> None:
    """List the ways to fail within a step that has another process at the other end of its connection."""


def may_fail_acting(s: State, out: Words, p: Node, k: int) -> None:
    """List the ways to fail within the k-th internal step of p, which is possible."""


def may_fail_electing(s: State, out: Words, l: Node, quorum: int) -> None:
    """List the ways in which a process of an election fails within it."""


def breaks_off(kind: int) -> bool:
    """Return whether a kind of step is another one within which its process fails."""
    return False


def begin_inside(s: State, kind: int, p: Node) -> None:
    """Begin a step within which process p fails."""


def end_inside(s: State, p: Node) -> None:
    """End a step within which process p fails."""


def its_turn_in(s: State, p: Node) -> None:
    """Let p do its part of a step that several processes take."""


def came_back(s: State, p: Node) -> None:
    """Make everything on the disk of p durable."""


def lose_power(s: State, p: Node, kept: int) -> None:
    """Let process p lose power; of what it has not forced the first writes are kept."""


def may_lose_all(s: State, out: Words) -> None:
    """List the outage, in which all processes lose power."""


def outage(s: State) -> None:
    """Let all processes lose power, and crash."""


def crash(s: State, p: Node) -> None:
    """Crash process p: it loses its volatile fields, and its connections."""


def has_stored(s: State, q: Node, t: Txn) -> bool:
    """Return whether t is in h_q, and no loss of power can take it from there."""
    return any(s.history[q][k] == t for k in range(len(s.history[q])))


# --- what a world of connections provides --------------------------------------------------------


@provided(acts="f")
def connect(s: State, f: Node, l: Node) -> None:
    """Open a connection of follower f to l."""


@provided(acts="p")
def disconnect(s: State, p: Node) -> None:
    """Close process p's end of the connection it opened, and as a leader of all it accepted."""


@provided(acts="f")
def send_to_leader(s: State, f: Node, m: AnyMessage) -> None:
    """Send m from a follower to the leader it follows."""


@provided(acts="l")
def send_to_follower(s: State, l: Node, f: Node, m: AnyMessage) -> None:
    """Send m from a leader to follower f."""


# --- what a world of datagrams provides ----------------------------------------------------------


@provided(acts="p")
def send(s: State, p: Node, q: Node, m: AnyMessage) -> None:
    """Send m from process p to q."""


@provided(acts="p")
def arm_timer(s: State, p: Node, timer: int) -> None:
    """Arm one of p's timers again, from now."""


# --- of a process with disks (`worlds/storage.py`) ------------------------------------------------


@provided(acts="p")
def wrote(s: State, p: Node) -> None:
    """Record that a statement has written what p has on its disk; the language calls this after each one."""


@provided(acts="p")
def force(s: State, p: Node) -> None:
    """Force all that p has written to its disk."""


# --- what every world provides -------------------------------------------------------------------


@provided()
def choose(s: State, alternatives: int) -> int:
    """Choose one of 0..alternatives-1; all are explored, in all combinations with a step's other choices."""
    return 0


@provided()
def durable(s: State, point: int) -> bool:
    """Return whether the process crashes at this point of its handler, which must then return."""
    return False


# --- what every world observes (`zabspec/history.py`) --------------------------------------------


@provided(acts="p")
def abcast(s: State, p: Node, epoch: int, counter: int) -> Txn:  # type: ignore[empty-body]
    """Abcast a new transaction of primary p under zxid <epoch, counter>."""


@provided(acts="p")
def abdeliver(s: State, p: Node, t: Txn) -> None:
    """Deliver t at process p, at the next place of its pass."""


@provided(acts="p")
def accept(s: State, p: Node, epoch: int, t: Txn) -> None:
    """Accept the proposal <epoch, t> at process p."""


@provided()
def establish(s: State, epoch: int, initial: History) -> None:
    """Establish the leader of an epoch: a quorum has accepted NEWLEADER(epoch, initial)."""


@provided(acts="p")
def revise(s: State, p: Node, history: History) -> None:
    """Record that process p has replaced its history."""


@provided(acts="p")
def end_pass(s: State, p: Node) -> None:
    """End the iteration of process p."""


@provided(acts="p")
def end_leadership(s: State, p: Node) -> None:
    """End the leadership of process p."""


@provided(acts="p")
def end_synchronization(s: State, p: Node) -> None:
    """Record that what process p has delivered in this pass, it delivered in Phase 2."""
