"""What a protocol and a world provide to each other.

A program binds these names to the functions of its protocol and its world (`Program.load`); here
they only say what each means, so that the text of either can be read, and checked, without the
other. A protocol speaks over connections (`zab`) or over datagrams (`db19`).

What a world provides says which of its parameters is the process that acts. A handler passes its own
process there and no other: the front end checks.
"""

from __future__ import annotations

from zabspec.language.lang import AnyMessage, History, Node, State, Txn, Words, forget, provided

# The roles a world knows.
ELECTION, FOLLOWING, LEADING, DOWN = 0, 1, 2, 3

# The timers of a process.
ELECTION_TIMER, HEARTBEAT_TIMER = 0, 1


# --- what every protocol provides ----------------------------------------------------------------


def is_down(s: State, p: Node) -> bool:
    """Whether process p has crashed and not started again."""
    return False


def after_event(s: State) -> None:
    """In the simulator: one thing has happened, of the several that may happen in a tick; who judges the run looks."""


def fill_budgets(s: State) -> None:
    """What there is at first of the budgets that the protocol declares beside the world's."""


def went_down(s: State, p: Node) -> None:
    """Process p has crashed: a world that keeps who is down notes it."""


def came_up(s: State, p: Node) -> None:
    """Process p, which was down, starts again."""


def may_recover(s: State, p: Node) -> bool:
    """Whether process p, which is down, may start again."""
    return True


def begin_at(s: State) -> None:
    """The protocol's own start state stands over what processes begin with, if the question names one."""


def may_act(s: State, p: Node, k: int) -> bool:
    """Whether process p may take the k-th of its internal steps now (0..ACTIONS-1)."""
    return False


def on_act(s: State, p: Node, k: int) -> None:
    """Process p takes the k-th of its internal steps."""


def crashes_spent(s: State, k: int) -> int:
    """How many crashes the k-th internal step of a process spends itself."""
    return 0


def power_losses_spent(s: State, k: int) -> int:
    """How many power losses the k-th internal step of a process spends itself."""
    return 0


def goes_on(s: State, k: int) -> bool:
    """Whether the k-th internal step of a process is one of its clock, which goes on while the process is down."""
    return False


def on_act_every(s: State, k: int) -> int:
    """In the simulator: about how many ticks lie between two of the k-th internal steps of a process."""
    return 8


def on_change_every(s: State, k: int) -> int:
    """The same of the k-th step of the environment."""
    return 8


def may_change(s: State, k: int) -> bool:
    """Whether the k-th step of the environment (0..CHANGES-1), which no process takes, may happen now."""
    return False


def on_change(s: State, k: int) -> None:
    """The k-th step of the environment happens."""


def may_abcast(s: State, p: Node) -> bool:
    """Whether the application at p, which leads, may abcast."""
    return False


def on_abcast(s: State, p: Node) -> None:
    """The application at p abcasts a transaction."""


def on_crash(s: State, p: Node) -> None:
    """Process p crashes; its connections are closed already. Unless its text says more, it forgets what is volatile."""
    forget(s, p)


def on_recovery(s: State, p: Node) -> None:
    """Process p, which had crashed, starts again."""


def starts_at_once(s: State, p: Node) -> bool:
    """Whether process p, which crashes, starts again in the same step. A process that looks for a leader, and never
    finds one, does as little as one that is down; so nothing is lost by it but the states in which p is down."""
    return False


# --- over connections ----------------------------------------------------------------------------


def on_oracle(s: State, p: Node, l: Node) -> None:
    """The leader oracle of p, which is in ELECTION, names l."""


def may_vote(s: State, p: Node) -> bool:
    """Whether p, which is up and in ELECTION, takes part in an election that is one step."""
    return True


def outranks(s: State, p: Node, q: Node) -> bool:
    """Whether what p votes with is no less than what q does; it follows from the fields that the text names."""
    return True


def elections_left(s: State) -> bool:
    """Whether there may be another election in this run."""
    return True


def spend_election(s: State) -> None:
    """There is one."""


def on_elected(s: State, l: Node) -> None:
    """A quorum has elected l, which from now on leads."""


def on_follow(s: State, f: Node, l: Node) -> None:
    """Process f has elected l with others, or hears that a quorum follows it; it follows l."""


def oracle_may_name(s: State, p: Node, l: Node) -> bool:
    """Whether the leader oracle of p, which is in ELECTION, may name l now. This is of the world: it may look at every
    process, as no handler does."""
    return True


def receivable(s: State, p: Node, f: Node, m: AnyMessage) -> bool:
    """Whether leader p takes m, at the head of its channel from f, now."""
    return True


def may_receive(s: State, f: Node) -> bool:
    """Whether process f reads its connection now: it takes what its leader sent, or learns that it is lost."""
    return True


def receive_as_leader(s: State, l: Node, f: Node, m: AnyMessage) -> None:
    """Leader l receives m from follower f."""


def receive_as_follower(s: State, f: Node, m: AnyMessage) -> None:
    """Process f receives m from the leader it follows."""


def on_follower_lost(s: State, l: Node, f: Node) -> None:
    """Leader l learns that its connection with f is lost."""


def on_leader_lost(s: State, f: Node) -> None:
    """Process f learns that its connection to its leader is lost."""


def may_time_out(s: State, p: Node) -> bool:
    """Whether p waits for anything that a timeout would end."""
    return True


def on_timeout(s: State, p: Node) -> None:
    """Process p has waited too long."""


def recovering(s: State, p: Node) -> bool:
    """Whether p is in an iteration that has not come to its end of recovery."""
    return True


def durable_points(s: State, m: AnyMessage) -> int:
    """How many points inside the handler of m a crash may fall at (see `durable`)."""
    return 0


# --- over datagrams ------------------------------------------------------------------------------


def on_start(s: State, p: Node) -> None:
    """Process p starts for the first time."""


def on_message(s: State, p: Node, source: Node, m: AnyMessage) -> None:
    """Process p receives m."""


def timer_armed(s: State, p: Node, timer: int) -> bool:
    """Whether p waits for one of its timers."""
    return False


def on_timer(s: State, p: Node, timer: int) -> None:
    """The deadline of one of p's timers has passed."""


# --- what a world of connections provides --------------------------------------------------------


@provided(acts="f")
def connect(s: State, f: Node, l: Node) -> None:
    """Follower f opens a connection to l."""


@provided(acts="p")
def disconnect(s: State, p: Node) -> None:
    """Process p closes its end of the connection it opened, and as a leader of all it accepted."""


@provided(acts="f")
def send_to_leader(s: State, f: Node, m: AnyMessage) -> None:
    """The follower sends m to the leader it follows."""


@provided(acts="l")
def send_to_follower(s: State, l: Node, f: Node, m: AnyMessage) -> None:
    """The leader sends m to follower f."""


# --- what a world of datagrams provides ----------------------------------------------------------


@provided(acts="p")
def send(s: State, p: Node, q: Node, m: AnyMessage) -> None:
    """Process p sends m to q."""


@provided(acts="p")
def arm_timer(s: State, p: Node, timer: int) -> None:
    """Arm one of p's timers again, from now."""


# --- of a process with disks (`worlds/storage.py`) ------------------------------------------------


def fill_power_losses(s: State) -> None:
    """How often power may be lost."""


def may_fail(s: State, out: Words, p: Node) -> None:
    """The ways to fail between steps that process p, which is up, has beside a crash."""


def may_fail_inside(s: State, out: Words, base: int, p: Node, which: int) -> None:
    """The ways to fail inside a step of p that is possible."""


def may_fail_inside_with(s: State, out: Words, base: int, p: Node, peer: Node, place: int) -> None:
    """The same of a step that has another process at the other end of its connection."""


def may_fail_acting(s: State, out: Words, p: Node, k: int) -> None:
    """The ways to fail inside the k-th internal step of p, which is possible."""


def may_fail_electing(s: State, out: Words, l: Node, quorum: int) -> None:
    """The ways in which one of those that are of an election fails inside it."""


def breaks_off(kind: int) -> bool:
    """Whether a kind of step is another one inside which its process fails."""
    return False


def begin_inside(s: State, kind: int, p: Node) -> None:
    """A step begins inside which process p fails."""


def end_inside(s: State, p: Node) -> None:
    """It has ended."""


def its_turn_in(s: State, p: Node) -> None:
    """Of a step that several processes are of, p does its part now."""


def came_back(s: State, p: Node) -> None:
    """What is on the disk of p is there for good."""


def lose_power(s: State, p: Node, kept: int) -> None:
    """Process p loses power; of what it has not forced the first writes are kept."""


@provided(acts="p")
def wrote(s: State, p: Node) -> None:
    """A statement has written what p has on its disk; the language says so, after each."""


@provided(acts="p")
def force(s: State, p: Node) -> None:
    """All that p has written is on its disk for good."""


# --- what every world provides -------------------------------------------------------------------


@provided()
def choose(s: State, alternatives: int) -> int:
    """One of 0..alternatives-1; every one of them is explored, with every one of what else the step chooses."""
    return 0


@provided()
def durable(s: State, point: int) -> bool:
    """Whether the process crashes at this point of its handler, which must then return."""
    return False


# --- what every world observes (`zabspec/history.py`) --------------------------------------------


def abcasts_left(s: State) -> bool:
    """Whether the application may abcast again in this run."""
    return False


@provided(acts="p")
def abcast(s: State, p: Node, epoch: int, counter: int) -> Txn:  # type: ignore[empty-body]
    """Primary p abcasts a new transaction under zxid <epoch, counter>."""


@provided(acts="p")
def abdeliver(s: State, p: Node, t: Txn) -> None:
    """Process p delivers t, at the next place of its pass."""


@provided(acts="p")
def accept(s: State, p: Node, epoch: int, t: Txn) -> None:
    """Process p accepts the proposal <epoch, t>."""


@provided()
def establish(s: State, epoch: int, initial: History) -> None:
    """A quorum has accepted NEWLEADER(epoch, initial): its leader is established."""


@provided(acts="p")
def revise(s: State, p: Node, history: History) -> None:
    """Process p has replaced its history."""


@provided(acts="p")
def end_pass(s: State, p: Node) -> None:
    """Process p gives up its iteration."""


@provided(acts="p")
def end_leadership(s: State, p: Node) -> None:
    """Process p leads no longer."""


@provided(acts="p")
def end_synchronization(s: State, p: Node) -> None:
    """What process p has delivered in this pass, it delivered in Phase 2."""


# --- over connections, which step may as well be taken before all others (`worlds/priority.py`) ------------------


def takes_first(s: State, f: Node, m: AnyMessage) -> bool:
    """Whether process f, which follows, may as well take m, the head of its channel, before anything else happens:
    nobody sees what it does with it, it sends nothing, and whatever ends its term comes to the same without."""
    return False


def hears_first(s: State, l: Node, f: Node, m: AnyMessage) -> bool:
    """The same of a leader l and m from f."""
    return False


def leaves_first(s: State, f: Node) -> bool:
    """Whether process f, whose leader has closed their connection and which has taken all that came, may as well learn
    of that before anything else happens."""
    return False


def admits_first(s: State, l: Node) -> bool:
    """Whether a leader l, which takes something first, has to be joined before that."""
    return False


def loses_when_learned(s: State) -> bool:
    """Whether a connection is lost when the first of its ends learns of it, and not before."""
    return False


def is_changed_by_crash(s: State, p: Node) -> bool:
    """Whether a crash of p, which starts again at once, comes to anything but one crash less."""
    return True
