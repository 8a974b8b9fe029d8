"""State facts about acknowledgements, commits and deliveries: only what is chosen is delivered."""

from __future__ import annotations

from invariants.analysis import zxid_before
from invariants.core import was_abcast
from invariants.proofs.channels import first_down
from invariants.proofs.clause import clause
from invariants.proofs.messages import txn_acked, txn_acked_ld, txn_committed, txn_committed_ld
from invariants.proofs.sources import channel_entry, channel_length, has_channel_history
from zabspec.language.python.lang import Node, State, Txn
from zabspec.zab import ACK, ACK_LD, BROADCAST, COMMIT, COMMIT_LD, ESTABLISHED, SYNCHRONIZING


def accepted_in(s: State, m: Node, e: int, t: Txn) -> bool:
    """m has accepted t in epoch e, or t is chosen in e or earlier."""
    if t.value == 0:
        return False
    c = s.chosen_epoch[t.value - 1]
    return (c > 0 and c <= e) or m in s.accepted[e][t.value - 1]


def accepted_all(s: State, m: Node, l: Node, n: int) -> bool:
    """m has accepted the first n of l's log in l's epoch."""
    return all(
        not (i < n and i < len(s.log[l]) and not accepted_in(s, m, s.new_epoch[l], s.log[l][i])) for i in range(s.TXNS)
    )


def accepted_up_to(s: State, m: Node, l: Node, t: Txn) -> bool:
    """t is in l's log, and m has accepted it and all before it in l's epoch."""
    return any(k < len(s.log[l]) and s.log[l][k] == t and accepted_all(s, m, l, k + 1) for k in range(s.TXNS))


def chosen_up_to(s: State, t: Txn, e: int) -> bool:
    """t is chosen in epoch e or earlier."""
    c = s.chosen_epoch[max(0, t.value - 1)]
    return c > 0 and c <= e


# --- acknowledgements --------------------------------------------------------------------------


def acknowledged_newleader(s: State) -> bool:
    """Whoever has acknowledged NEWLEADER has accepted the whole initial history."""
    return all(
        not (s.stage[l] == SYNCHRONIZING and m in s.acked[l] and not accepted_all(s, m, l, s.TXNS))
        for l in range(s.NODES)
        for m in range(s.NODES)
    )


def ack_ld_in_flight(s: State) -> bool:
    """An acknowledgement in flight from Q to a leader that synchronizes stands for an acceptance of the whole
    initial history."""
    for l in range(s.NODES):
        for m in range(s.NODES):
            if s.stage[l] == SYNCHRONIZING and m in s.Q[l] and len(s.to_leader[m][l]) > 0:
                if not accepted_all(s, m, l, s.TXNS):
                    return False
    return True


def acknowledgements(s: State) -> bool:
    """An acknowledgement that is counted stands for an acceptance of all that it covers."""
    return all(
        not (s.stage[l] == ESTABLISHED and m in s.acks[l][k] and not accepted_all(s, m, l, k + 1))
        for l in range(s.NODES)
        for m in range(s.NODES)
        for k in range(s.TXNS)
    )


def ack_in_flight(s: State) -> bool:
    """An acknowledgement in flight to an established leader stands for an acceptance of all that it covers."""
    for l in range(s.NODES):
        for m in range(s.NODES):
            if s.stage[l] == ESTABLISHED:
                for j in range(s.UP):
                    if j < len(s.to_leader[m][l]) and s.to_leader[m][l][j].kind == ACK:
                        if not accepted_up_to(s, m, l, txn_acked(s.to_leader[m][l][j])):
                            return False
    return True


def joiner_ack_in_flight(s: State) -> bool:
    """An acknowledgement of NEWLEADER in flight from whoever joins a leader stands for an acceptance of all that it
    covers of its epoch."""
    for l in range(s.NODES):
        for m in range(s.NODES):
            if m in s.joining[l]:
                for j in range(s.UP):
                    if j < len(s.to_leader[m][l]) and s.to_leader[m][l][j].kind == ACK_LD:
                        t = txn_acked_ld(s.to_leader[m][l][j])
                        if t.epoch >= s.new_epoch[l] and not accepted_up_to(s, m, l, t):
                            return False
    return True


def committed_is_chosen(s: State) -> bool:
    """What a leader has committed is chosen, in its epoch or before."""
    for l in range(s.NODES):
        for k in range(s.TXNS):
            if s.stage[l] == ESTABLISHED and k < s.committed[l]:
                if not chosen_up_to(s, s.log[l][k], s.new_epoch[l]):
                    return False
    return True


def has_accepted(s: State) -> bool:
    """What a follower has of the epoch it is in, it has accepted in it."""
    return all(
        not (i < len(s.history[f]) and not accepted_in(s, f, s.current_epoch[f], s.history[f][i]))
        for f in range(s.NODES)
        for i in range(s.TXNS)
    )


# --- commits in flight -------------------------------------------------------------------------


def covers_chosen(s: State, f: Node, t: Txn) -> bool:
    """All that a commit of t would make f deliver is chosen, in its epoch or before."""
    for i in range(s.TXNS):
        if i < channel_length(s, f):
            u = channel_entry(s, f, i)
            if not zxid_before(t, u) and not chosen_up_to(s, u, first_down(s, f)):
                return False
    return True


def comes_to(s: State, f: Node, t: Txn) -> bool:
    """t is in what the channel to f will make of its history, or is none."""
    found = t.epoch == 0 and t.counter == 0
    for i in range(s.TXNS):
        if i < channel_length(s, f) and channel_entry(s, f, i) == t:
            found = True
    return found


def commits_continue(s: State) -> bool:
    """What is in flight with a commit makes a history of one epoch, or goes on from one."""
    for f in range(s.NODES):
        for k in range(s.DOWN):
            if k < len(s.to_follower[f]) and not has_channel_history(s, f):
                if s.to_follower[f][k].kind == COMMIT or s.to_follower[f][k].kind == COMMIT_LD:
                    return False
    return True


def commits(s: State) -> bool:
    """A COMMIT in flight covers only what is chosen."""
    for f in range(s.NODES):
        for k in range(s.DOWN):
            if k < len(s.to_follower[f]) and s.to_follower[f][k].kind == COMMIT:
                if not covers_chosen(s, f, txn_committed(s.to_follower[f][k])):
                    return False
    return True


def commits_of_newleader(s: State) -> bool:
    """A commit of NEWLEADER in flight covers only what is chosen."""
    for f in range(s.NODES):
        for k in range(s.DOWN):
            if k < len(s.to_follower[f]) and s.to_follower[f][k].kind == COMMIT_LD:
                if not covers_chosen(s, f, txn_committed_ld(s.to_follower[f][k])):
                    return False
    return True


def commits_known(s: State) -> bool:
    """What a COMMIT in flight names comes to its follower."""
    for f in range(s.NODES):
        for k in range(s.DOWN):
            if k < len(s.to_follower[f]) and s.to_follower[f][k].kind == COMMIT:
                if not comes_to(s, f, txn_committed(s.to_follower[f][k])):
                    return False
    return True


def commits_of_newleader_known(s: State) -> bool:
    """What a commit of NEWLEADER in flight names, if anything, comes to its follower."""
    for f in range(s.NODES):
        for k in range(s.DOWN):
            if k < len(s.to_follower[f]) and s.to_follower[f][k].kind == COMMIT_LD:
                if not comes_to(s, f, txn_committed_ld(s.to_follower[f][k])):
                    return False
    return True


# --- deliveries --------------------------------------------------------------------------------


def never_diverged(s: State) -> bool:
    """No process delivers what does not go on from what it has delivered before."""
    return all(not (s.diverged[p]) for p in range(s.NODES))


def pass_known(s: State) -> bool:
    """A process has delivered in this pass as much as it knows."""
    return all(s.pass_length[p] == s.delivered_length[p] for p in range(s.NODES))


def pass_within_history(s: State) -> bool:
    """A process has delivered no more in this pass than its history has."""
    return all(s.delivered_length[p] <= len(s.history[p]) for p in range(s.NODES))


def pass_within_delivered(s: State) -> bool:
    """A process has delivered no more in this pass than ever."""
    return all(s.delivered_length[p] <= len(s.delivered[p]) for p in range(s.NODES))


def delivers_in_broadcast(s: State) -> bool:
    """Only in Phase 3 a process has delivered anything in this pass."""
    return all(not (s.phase[p] != BROADCAST and s.delivered_length[p] > 0) for p in range(s.NODES))


def deliveries(s: State) -> bool:
    """What a process has delivered in this pass is the beginning of its history."""
    return all(
        not (i < s.delivered_length[p] and s.delivered[p][i] != s.history[p][i])
        for p in range(s.NODES)
        for i in range(s.TXNS)
    )


def deliveries_abcast(s: State) -> bool:
    """What a process has ever delivered was abcast."""
    return all(
        not (i < len(s.delivered[p]) and not was_abcast(s, s.delivered[p][i]))
        for p in range(s.NODES)
        for i in range(s.TXNS)
    )


def deliveries_chosen(s: State) -> bool:
    """What a process has ever delivered is chosen in its epoch or before."""
    return all(
        not (i < len(s.delivered[p]) and not chosen_up_to(s, s.delivered[p][i], s.current_epoch[p]))
        for p in range(s.NODES)
        for i in range(s.TXNS)
    )


CLAUSES = (
    clause(has_accepted, "f.2.1, f.3.2"),
    clause(acknowledged_newleader, "l.2.2"),
    clause(ack_ld_in_flight, "f.2.1"),
    clause(acknowledgements, "l.3.2"),
    clause(ack_in_flight, "f.3.2"),
    clause(joiner_ack_in_flight, "f.2.1, l.3.4"),
    clause(committed_is_chosen, "l.2.2, l.3.2"),
    clause(commits_continue, "l.2.2, l.3.2, l.3.4"),
    clause(commits, "l.3.2"),
    clause(commits_of_newleader, "l.2.2, l.3.4"),
    clause(commits_known, "l.3.2"),
    clause(commits_of_newleader_known, "l.2.2, l.3.4"),
    clause(never_diverged, "f.2.2, f.3.3"),
    clause(pass_known, "f.2.2, f.3.3"),
    clause(pass_within_history, "f.2.2, f.3.3"),
    clause(pass_within_delivered, "f.2.2, f.3.3"),
    clause(delivers_in_broadcast, "f.2.2, f.3.3"),
    clause(deliveries, "f.2.2, f.3.3"),
    clause(deliveries_abcast, "f.2.2, f.3.3"),
    clause(deliveries_chosen, "f.2.2, f.3.3"),
)
