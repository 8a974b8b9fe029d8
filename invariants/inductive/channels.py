"""What is in flight: in which order, and how far the follower at the other end then is."""

from __future__ import annotations

from invariants.inductive.clause import clause
from invariants.inductive.connections import connected, member, served
from invariants.inductive.messages import epoch_down, from_follower, of_cepoch, of_propose, txn_proposed
from zabspec.language.lang import Node, State
from zabspec.worlds.connections import LOST, OPEN
from zabspec.zab import (
    ACK,
    ACK_E,
    ACK_LD,
    BROADCAST,
    CEPOCH,
    COMMIT,
    COMMIT_LD,
    DISCOVERY,
    ESTABLISHED,
    GATHERING,
    LEADING,
    NEWEPOCH,
    NEWLEADER,
    PROMISING,
    PROPOSE,
    SYNCHRONIZATION,
    SYNCHRONIZING,
)


def waiting(s: State) -> bool:
    """Until its CEPOCH is taken, a follower's channels hold that and nothing else, and it is in Phase
    1; a CEPOCH says at most what the follower has promised, and while they are connected just that."""
    for f in range(s.NODES):
        for l in range(s.NODES):
            if served(s, f, l) and not (s.role[l] == LEADING and member(s, l, f)):
                if len(s.to_leader[f][l]) != 1 or s.to_leader[f][l][0].kind != CEPOCH:
                    return False
                if of_cepoch(s.to_leader[f][l][0]) > s.promised_epoch[f]:
                    return False
                if connected(s, f, l):
                    if s.phase[f] != DISCOVERY or len(s.to_follower[f]) > 0:
                        return False
                    if of_cepoch(s.to_leader[f][l][0]) != s.promised_epoch[f]:
                        return False
    return True


def directions(s: State) -> bool:
    """A channel to a leader carries what followers send, one to a follower what leaders send; a
    proposal is of the epoch of its leader."""
    for f in range(s.NODES):
        for l in range(s.NODES):
            for k in range(s.UP):
                if k < len(s.to_leader[f][l]) and not from_follower(s.to_leader[f][l][k]):
                    return False
        for k in range(s.DOWN):
            if k < len(s.to_follower[f]):
                if from_follower(s.to_follower[f][k]):
                    return False
                if s.to_follower[f][k].kind == PROPOSE:
                    if txn_proposed(s.to_follower[f][k]).epoch != of_propose(s.to_follower[f][k]):
                        return False
    return True


def upwards(s: State) -> bool:
    """What is in flight to a leader that has taken the follower's CEPOCH: nothing while it gathers,
    ACK-E first, the acknowledgement of NEWLEADER next, acknowledgements of proposals last."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if served(s, f, l) and s.role[l] == LEADING and member(s, l, f):
                n = len(s.to_leader[f][l])
                if s.stage[l] == GATHERING and n > 0:
                    return False
                if s.stage[l] == PROMISING and (
                    n > 1 or (n == 1 and (s.to_leader[f][l][0].kind != ACK_E or f in s.acked[l]))
                ):
                    return False
                if s.stage[l] == SYNCHRONIZING:
                    if n > 1 or (n == 1 and (s.to_leader[f][l][0].kind != ACK_LD or f in s.acked[l])):
                        return False
                if s.stage[l] == ESTABLISHED:
                    for k in range(s.UP):
                        if k < n:
                            kind = s.to_leader[f][l][k].kind
                            if kind == CEPOCH:
                                return False
                            if kind == ACK_E and (k > 0 or f not in s.joining[l]):
                                return False
                            if kind == ACK_LD and (f not in s.joining[l] or k > 1):
                                return False
                            if kind == ACK_LD and k == 1 and s.to_leader[f][l][0].kind != ACK_E:
                                return False
                            if kind == ACK and k > 0 and s.to_leader[f][l][k - 1].kind == ACK_E:
                                return False
                            if kind == ACK and k == 0 and f in s.joining[l]:
                                return False
    return True


def first_down(s: State, f: Node) -> int:
    """The epoch of what is in flight to f; 0 for nothing."""
    return epoch_down(s.to_follower[f][0]) if len(s.to_follower[f]) > 0 else 0


def newleader_at(s: State, f: Node) -> int:
    """Where NEWLEADER is in flight to f, 0 or 1; -1: it is not."""
    if len(s.to_follower[f]) > 0 and s.to_follower[f][0].kind == NEWLEADER:
        return 0
    if len(s.to_follower[f]) > 1 and s.to_follower[f][1].kind == NEWLEADER:
        return 1
    return -1


def downwards(s: State) -> bool:
    """What is in flight to a follower: NEWEPOCH comes first, NEWLEADER next, then the rest, all of one
    epoch, which is the one it has promised from Phase 2 on."""
    for f in range(s.NODES):
        n = len(s.to_follower[f])
        if n > 0:
            e = first_down(s, f)
            if e == 0:
                return False
            if s.to_follower[f][0].kind == NEWEPOCH:
                if s.phase[f] != DISCOVERY:
                    return False
                if n > 1 and s.to_follower[f][1].kind != NEWLEADER:
                    return False
            elif s.phase[f] == DISCOVERY:
                # the rest of what a leader sent after a NEWEPOCH that was refused
                if s.promised_epoch[f] <= e:
                    return False
            elif s.promised_epoch[f] != e:
                return False
            if s.to_follower[f][0].kind == NEWLEADER and s.phase[f] == BROADCAST:
                return False
            for k in range(s.DOWN):
                if k < n:
                    kind = s.to_follower[f][k].kind
                    if epoch_down(s.to_follower[f][k]) != e:
                        return False
                    if kind == NEWEPOCH and k > 0:
                        return False
                    if kind == NEWLEADER and (k > 1 or (k == 1 and s.to_follower[f][0].kind != NEWEPOCH)):
                        return False
    return True


def followed(s: State) -> bool:
    """A follower whose leader has taken its CEPOCH and whose connection is not known to be lost is as
    far as that leader's stage says: it has promised its epoch, or NEWEPOCH is on the way."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if s.role[l] == LEADING and member(s, l, f) and (s.link[f][l] == OPEN or s.link[f][l] == LOST):
                e = s.new_epoch[l]
                n = len(s.to_follower[f])
                if n > 0 and first_down(s, f) != e:
                    return False
                if s.stage[l] == GATHERING:
                    if n > 0 or s.phase[f] != DISCOVERY or s.promised_epoch[f] > e:
                        return False
                elif s.phase[f] == DISCOVERY:
                    # only one that joins late may have promised more; it refuses NEWEPOCH, and NEWLEADER follows
                    refuses = s.promised_epoch[f] > e and s.stage[l] == ESTABLISHED
                    if (s.promised_epoch[f] > e and not refuses) or (n == 0 and s.link[f][l] == OPEN):
                        return False
                    if n > 0 and s.to_follower[f][0].kind != NEWEPOCH and not refuses:
                        return False
                    if s.stage[l] == PROMISING and s.promised_epoch[f] == e:
                        return False
                    if len(s.to_leader[f][l]) > 0 or (n > 0 and s.stage[l] == ESTABLISHED and newleader_at(s, f) < 0):
                        return False
                    if s.stage[l] == SYNCHRONIZING or f in s.acked[l] or (s.stage[l] == PROMISING and n > 1):
                        return False
                    if s.stage[l] == ESTABLISHED and f in s.Q[l]:
                        return False
                elif s.promised_epoch[f] != e:
                    return False
                if s.stage[l] == PROMISING and s.phase[f] == SYNCHRONIZATION:
                    if n > 0 or s.current_epoch[f] == e:
                        return False
                    if s.link[f][l] == OPEN and f not in s.acked[l] and len(s.to_leader[f][l]) == 0:
                        return False
                if s.stage[l] >= PROMISING and s.stage[l] <= SYNCHRONIZING and s.phase[f] == BROADCAST:
                    return False
                if s.stage[l] == SYNCHRONIZING:
                    if n > 1 or (n == 1 and s.to_follower[f][0].kind != NEWLEADER):
                        return False
                    if n == 1 and s.current_epoch[f] == e:
                        return False
                    if n == 0 and s.current_epoch[f] != e and s.link[f][l] == OPEN:
                        return False
                    if n == 1 and (len(s.to_leader[f][l]) > 0 or f in s.acked[l]):
                        return False
                if s.stage[l] == ESTABLISHED and s.phase[f] == SYNCHRONIZATION:
                    if newleader_at(s, f) < 0 and s.current_epoch[f] != e:
                        return False
                if s.stage[l] == ESTABLISHED and s.phase[f] == BROADCAST and s.current_epoch[f] != e:
                    return False
    return True


def sends_ack_ld(s: State, f: Node, l: Node) -> bool:
    """The acknowledgement of NEWLEADER is in flight from f to l."""
    n = len(s.to_leader[f][l])
    return (n > 0 and s.to_leader[f][l][0].kind == ACK_LD) or (n > 1 and s.to_leader[f][l][1].kind == ACK_LD)


def joins(s: State) -> bool:
    """l.3.3, l.3.4: a follower joins from when it is sent NEWLEADER until its acknowledgement has been
    received; nothing is committed to it before, and it sends nothing else before."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if s.role[l] == LEADING and s.stage[l] == ESTABLISHED and (s.link[f][l] == OPEN or s.link[f][l] == LOST):
                if f in s.Q[l] and newleader_at(s, f) >= 0:
                    return False
                if f in s.joining[l]:
                    if s.phase[f] == BROADCAST:
                        return False
                    for k in range(s.DOWN):
                        if k < len(s.to_follower[f]):
                            if s.to_follower[f][k].kind == COMMIT_LD or s.to_follower[f][k].kind == COMMIT:
                                return False
                    if s.phase[f] == SYNCHRONIZATION and newleader_at(s, f) < 0 and s.link[f][l] == OPEN:
                        if not sends_ack_ld(s, f, l):
                            return False
                    if s.phase[f] == SYNCHRONIZATION and newleader_at(s, f) >= 0 and sends_ack_ld(s, f, l):
                        return False
    return True


CLAUSES = (
    clause(waiting, "f.1.1, l.1.1, l.3.3"),
    clause(directions, "IV"),
    clause(upwards, "II, IV"),
    clause(downwards, "II, IV"),
    clause(followed, "IV"),
    clause(joins, "l.3.3, l.3.4"),
)
