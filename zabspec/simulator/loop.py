"""Run the simulator's loop: what happens in a tick, in the order of the db-19 lab.

The lab's run has four parts to a tick. Beyond it, and never in it, scheduled faults come first. Under a script (replay)
nothing happens by itself: mail is held and no timer runs until the script says so, and the same loop does it.
"""

from __future__ import annotations

from zabspec.language import Field, Int, NodeId, Role
from zabspec.language.layout.wrapping import unsigned_rem
from zabspec.language.python.lang import Node, State
from zabspec.simulator.mail import LARGEST_TICK, splitmix64, step_taken
from zabspec.simulator.network import (
    begin,
    deliver_due,
    fire_timers,
    link_cut,
    link_healed,
    links_of_crashed,
    lose_link,
    serves,
    time_out,
)
from zabspec.worlds.actor import (
    after_event,
    begin_at,
    came_up,
    fill_budgets,
    fill_power_losses,
    goes_on,
    is_down,
    may_abcast,
    may_act,
    may_change,
    may_recover,
    on_abcast,
    on_act,
    on_act_every,
    on_change,
    on_change_every,
    on_crash,
    on_recovery,
    went_down,
)
from zabspec.worlds.steps import ABCAST, ACTION, CRASH, ENVIRONMENT, RECOVER

# Faults on a schedule. No name is that of a step: a program has one namespace.
(
    CUT,  # nothing a sends arrives at b
    HEAL,  # the way from a to b is open again
    CRASH_NOW,  # process a
    RECOVER_NOW,  # process a
    LOSE,  # the connection of follower a to leader b
    TIMEOUT_NOW,  # process a has waited too long
) = range(1, 7)

FAULTS = {"cut": CUT, "heal": HEAL, "crash": CRASH_NOW, "recover": RECOVER_NOW, "lose": LOSE, "timeout": TIMEOUT_NOW}
MOST_FAULTS = 64
MOST_CHOICES = 255  # alternatives of a step


def loop_fields(nodes: int, proposals: int) -> tuple[Field, ...]:
    """Return the fields of the loop.

    Args:
        nodes: the number of processes.
        proposals: the maximum number of proposals.
    """
    count = Int(0, proposals, "--proposals")
    net = Role.NETWORK
    fault = Int(0, MOST_FAULTS)
    return (
        Field("sim_rounds", Int(0, LARGEST_TICK, "--rounds"), net, (), "ticks in the run"),
        Field("sim_proposals", count, net, (), "proposals in the run"),
        Field("sim_scheduled", count, net, (), "proposals that were due so far"),
        Field("sim_waiting", count, net, (), "of those, how many wait for a leader"),
        Field("sim_client", NodeId.of(nodes), net, (), "the process that takes them; none: the lowest that may abcast"),
        Field(
            "sim_doing", Int(0, 255), net, (), "which step of its own the script lets the client take, from 1; 0: none"
        ),
        Field("sim_faults", fault, net, (), "faults on the schedule"),
        Field("sim_faults_done", fault, net, (), "how many of them have happened"),
        Field("sim_fault_at", Int(0, LARGEST_TICK, "--rounds"), net, (MOST_FAULTS,), "when, in order"),
        Field("sim_fault_kind", Int(0, len(FAULTS)), net, (MOST_FAULTS,), "what"),
        Field("sim_fault_a", NodeId.of(nodes), net, (MOST_FAULTS,), "to whom"),
        Field("sim_fault_b", NodeId.of(nodes), net, (MOST_FAULTS,), "and to whom else"),
    )


def start(s: State, seed: int, rounds: int, proposals: int) -> None:
    """Set up the cluster before its first tick.

    Delays, blocked links, faults and whether a script runs it are set before; everything else is zero.
    """
    s.sim_seed = seed
    s.sim_rounds = rounds
    s.sim_proposals = proposals
    s.sim_client = -1
    fill_budgets(s)
    fill_power_losses(s)
    for p in range(s.NODES):
        begin(s, p)
    begin_at(s)
    s.choices = 1
    s.choice = 0
    after_event(s)


def run(s: State, until: int) -> None:
    """Run every tick up to, and excluding, `until`; none after an error."""
    while s.sim_moment < until and s.error == 0:
        tick(s)


def tick(s: State) -> None:
    """Run one tick: faults, new proposals, their injection at a leader, deliveries, timers."""
    while s.sim_faults_done < s.sim_faults and s.sim_fault_at[s.sim_faults_done] <= s.sim_moment:
        s.sim_faults_done = s.sim_faults_done + 1
        k = s.sim_faults_done - 1
        strike(s, s.sim_fault_kind[k], s.sim_fault_a[k], s.sim_fault_b[k])
        after_event(s)
    while s.sim_scheduled < s.sim_proposals and due_at(s, s.sim_scheduled) <= s.sim_moment:
        s.sim_scheduled = s.sim_scheduled + 1
        s.sim_waiting = s.sim_waiting + 1
    if s.sim_waiting > 0:
        inject(s)
    for k in range(s.CHANGES):
        if its_turn(s, -1, k) and may_change(s, k):
            on_change(s, k)
            step_taken(s, ENVIRONMENT, 0, 0, k)
            after_event(s)
    for p in range(s.NODES):
        for k in range(s.ACTIONS):
            if (goes_on(s, k) or not is_down(s, p)) and its_turn(s, p, k) and may_act(s, p, k):
                on_act(s, p, k)
                step_taken(s, ACTION, p, 0, k)
                after_event(s)
    s.sim_doing = 0
    deliver_due(s)
    for p in range(s.NODES):
        fire_timers(s, p)
    s.sim_moment = s.sim_moment + 1


def due_at(s: State, k: int) -> int:
    """Return the tick of the k-th proposal by the lab's schedule: evenly spread, whatever the cluster does."""
    return (k + 1) * s.sim_rounds // (s.sim_proposals + 1)


def inject(s: State) -> None:
    """Inject all waiting proposals at the leader with the lowest id (reading 13), as long as it may abcast."""
    for p in range(s.NODES):
        if s.sim_client < 0 or s.sim_client == p:
            while s.sim_waiting > 0 and not is_down(s, p) and serves(s, p) and may_abcast(s, p):
                s.sim_waiting = s.sim_waiting - 1
                on_abcast(s, p)
                step_taken(s, ABCAST, p, 0, 0)
                after_event(s)


def its_turn(s: State, p: int, k: int) -> bool:
    """Return whether an internal step of process p, or of the environment (-1), is taken in this tick.

    It is the script's choice, or random.
    """
    if s.sim_scripted:
        return s.sim_doing == k + 1 and s.sim_client == p
    pause = on_change_every(s, k) if p < 0 else on_act_every(s, k)
    return unsigned_rem(splitmix64(s.sim_seed ^ s.sim_moment ^ (k << 40) ^ ((p + 1) << 56)), pause) == 0


def strike(s: State, kind: int, a: int, b: int) -> None:
    """Inject a fault."""
    if kind == CUT:
        s.sim_blocked[a][b] = True
        link_cut(s, a, b)
    elif kind == HEAL:
        s.sim_blocked[a][b] = False
        link_healed(s, a, b)
    elif kind == CRASH_NOW and not is_down(s, a):
        crash(s, a)
    elif kind == RECOVER_NOW and is_down(s, a) and may_recover(s, a):
        came_up(s, a)
        on_recovery(s, a)
        step_taken(s, RECOVER, a, 0, 0)
    elif kind == LOSE:
        lose_link(s, a, b)
    elif kind == TIMEOUT_NOW:
        time_out(s, a)


def crash(s: State, p: Node) -> None:
    """Crash process p: it loses its connections and its volatile fields."""
    links_of_crashed(s, p)
    on_crash(s, p)
    went_down(s, p)
    step_taken(s, CRASH, p, 0, 0)


# --- what every world provides to handlers -------------------------------------------------------


def choose(s: State, alternatives: int) -> int:
    """Return one of 0..alternatives-1: the script's choice, or a random one."""
    ways = alternatives_of(s, alternatives)
    if s.sim_scripted:
        s.choices = s.choices * ways
        return s.choice // (s.choices // ways) % ways
    if s.choices == 0:  # the run begins
        s.choice = (s.choice + 1) % MOST_CHOICES
        return unsigned_rem(splitmix64(s.sim_seed ^ (s.choice << 32)), ways)
    if s.choices * ways > MOST_CHOICES:  # nobody restarted this step
        s.choices = 1
    if s.choices == 1:
        s.choice = 0
    chosen = unsigned_rem(splitmix64(s.sim_seed ^ s.sim_seq), ways)
    s.choice = s.choice + chosen * s.choices
    s.choices = s.choices * ways
    return chosen


def alternatives_of(s: State, alternatives: int) -> int:
    """Return the number of alternatives; fewer than one is an error, since choosing divides by it."""
    return alternatives if alternatives > 0 else 1 // max(alternatives, 0)


def durable(s: State, point: int) -> bool:
    """Return whether the script lets the process crash at this point of its handler."""
    return s.crash_at == point
