"""Let the db-19 lab's election play the simulator's leader oracle, over datagrams beside the connections' mail.

These functions override those of `connections` of the same name.
"""

from __future__ import annotations

from zabspec.language.python.lang import AnyMessage, Node, State
from zabspec.protocols.electing import on_election_message
from zabspec.protocols.election import campaign
from zabspec.simulator.connections import DATAGRAM, ORACLE_TICKS, RECOVERY_TICKS, address, drop
from zabspec.simulator.mail import drawn, post, step_taken
from zabspec.worlds.actor import ELECTION, is_down, on_oracle
from zabspec.worlds.steps import ORACLE

VOTE_TICKS = 150  # and as many again of jitter: the lab's election timer


def send(s: State, p: Node, q: Node, m: AnyMessage) -> None:
    """Send a datagram of the election; its envelope has the sender as follower, the target as leader."""
    if s.sim_blocked[p][q]:
        drop(s, p, q, m)
    else:
        address(s, post(s, s.sim_moment + s.sim_least_delay + drawn(s, p, q, s.sim_delays), p, m), p, q, DATAGRAM, 0)


def arm_timer(s: State, p: Node, timer: int) -> None:
    """Arm the timer after which p campaigns again if no process is elected."""
    s.oracle_due[p] = s.sim_moment + VOTE_TICKS + drawn(s, p, 0, VOTE_TICKS)


def deliver_datagram(s: State, slot: int) -> None:
    """Deliver a message of the election; to a process that is down it is lost."""
    p = s.sim_flight[slot].follower
    q = s.sim_flight[slot].leader
    if is_down(s, q):
        drop(s, p, q, s.sim_flight[slot])
    else:
        on_election_message(s, q, s.sim_flight[slot])
        if s.role[q] == ELECTION and s.vote_winner[q] >= 0:
            s.oracle_due[q] = s.sim_moment


def ask_oracle(s: State, p: Node) -> None:
    """Campaign until a process is elected, then name it as soon as a connection to it can open."""
    if s.vote_winner[p] < 0:
        campaign(s, p)
    l = s.vote_winner[p]
    if l >= 0:
        if s.sim_blocked[p][l] or s.sim_blocked[l][p]:
            s.vote_winner[p] = -1  # it cannot be reached: vote again
            s.oracle_due[p] = s.sim_moment + ORACLE_TICKS
        elif s.follower_end[p][l] or s.leader_end[p][l]:
            s.oracle_due[p] = s.sim_moment + 1
        else:
            s.sim_deadline[p] = s.sim_moment + RECOVERY_TICKS + drawn(s, p, 0, RECOVERY_TICKS)
            s.oracle_due[p] = s.sim_moment + ORACLE_TICKS
            on_oracle(s, p, l)
            step_taken(s, ORACLE, p, l, 0)
