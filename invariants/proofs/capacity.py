"""State the bounds on counters and channels: they never leave the ranges of their fields."""

from __future__ import annotations

from invariants.proofs.clause import clause
from invariants.proofs.connections import member
from invariants.proofs.messages import txn_acked, txn_committed
from zabspec.language.python.lang import Node, State
from zabspec.worlds.connections import OPEN
from zabspec.zab import ACK, BROADCAST, COMMIT, COMMIT_LD, ESTABLISHED


def counters(s: State) -> bool:
    """The counter of a transaction is its place among the abcasts of its epoch, from 1."""
    for k in range(s.TXNS):
        if k < s.abcasts:
            place = 1
            for j in range(k):
                if s.abcast_txn[j].epoch == s.abcast_txn[k].epoch:
                    place = place + 1
            if s.abcast_txn[k].counter != place:
                return False
    return True


def acks_behind(s: State, f: Node, l: Node, k: int) -> int:
    """Return how many acknowledgements of proposals are in flight from f to l from place k on."""
    return sum(1 for j in range(s.UP) if j >= k and j < len(s.to_leader[f][l]) and s.to_leader[f][l][j].kind == ACK)


def acks_in_flight(s: State) -> bool:
    """While their connection is open, the acknowledgements in flight to an established leader are of the last
    transactions of the follower's history, one of each, in their order."""
    for f in range(s.NODES):
        for l in range(s.NODES):
            if s.stage[l] == ESTABLISHED and member(s, l, f) and s.link[f][l] == OPEN:
                for k in range(s.UP):
                    if k < len(s.to_leader[f][l]) and s.to_leader[f][l][k].kind == ACK:
                        found = False
                        for i in range(s.TXNS):
                            if i + acks_behind(s, f, l, k) == len(s.history[f]):
                                if s.history[f][i] == txn_acked(s.to_leader[f][l][k]):
                                    found = True
                        if not found:
                            return False
    return True


def commits_behind(s: State, f: Node, k: int) -> int:
    """Return how many COMMITs are in flight to f from place k on."""
    return sum(1 for j in range(s.DOWN) if j >= k and j < len(s.to_follower[f]) and s.to_follower[f][j].kind == COMMIT)


def commits_in_flight(s: State) -> bool:
    """While their connection is open, the COMMITs in flight to anyone in Q are of transactions that its leader has
    committed, one of each, in their order."""
    for f in range(s.NODES):
        for l in range(s.NODES):
            if s.stage[l] == ESTABLISHED and f in s.Q[l] and s.link[f][l] == OPEN:
                for k in range(s.DOWN):
                    if k < len(s.to_follower[f]) and s.to_follower[f][k].kind == COMMIT:
                        found = False
                        for i in range(s.TXNS):
                            if i + commits_behind(s, f, k) <= s.committed[l]:
                                if s.log[l][i] == txn_committed(s.to_follower[f][k]):
                                    found = True
                        if not found:
                            return False
    return True


def newleader_committed_once(s: State) -> bool:
    """While their connection is open, no commit of NEWLEADER is in flight to anyone in Q who is in Phase 3."""
    return all(
        not (k < len(s.to_follower[f]) and s.to_follower[f][k].kind == COMMIT_LD)
        for f in range(s.NODES)
        for l in range(s.NODES)
        if s.stage[l] == ESTABLISHED and f in s.Q[l] and s.link[f][l] == OPEN and s.phase[f] == BROADCAST
        for k in range(s.DOWN)
    )


def newleader_committed_first(s: State) -> bool:
    """While their connection is open, no other commit is in flight to anyone in Q before that of NEWLEADER."""
    for f in range(s.NODES):
        for l in range(s.NODES):
            if s.stage[l] == ESTABLISHED and f in s.Q[l] and s.link[f][l] == OPEN:
                for k in range(s.DOWN):
                    for j in range(k):
                        if k < len(s.to_follower[f]) and s.to_follower[f][k].kind == COMMIT_LD:
                            if s.to_follower[f][j].kind == COMMIT or s.to_follower[f][j].kind == COMMIT_LD:
                                return False
    return True


CLAUSES = (
    clause(counters, "III, l.3.1"),
    clause(acks_in_flight, "f.3.2"),
    clause(commits_in_flight, "l.3.2"),
    clause(newleader_committed_once, "l.2.2, l.3.4"),
    clause(newleader_committed_first, "l.2.2, l.3.4"),
)
