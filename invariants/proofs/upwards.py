"""State what is in flight to a leader that has taken its follower's CEPOCH, and in which order."""

from __future__ import annotations

from invariants.proofs.clause import clause
from invariants.proofs.connections import member
from zabspec.language.python.lang import State
from zabspec.zab import ACK, ACK_E, ACK_LD, CEPOCH, ESTABLISHED, GATHERING, PROMISING, SYNCHRONIZING


def unasked_is_silent(s: State) -> bool:
    """Nothing is in flight to a leader that gathers from a follower whose CEPOCH it has taken."""
    return all(
        not (s.stage[l] == GATHERING and member(s, l, f) and len(s.to_leader[f][l]) > 0)
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


def one_answer(s: State) -> bool:
    """At most one answer is in flight from each of Q to a leader that is not established."""
    return all(
        not (s.stage[l] != ESTABLISHED and member(s, l, f) and len(s.to_leader[f][l]) > 1)
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


def answers_newepoch(s: State) -> bool:
    """What is in flight from Q to a leader that awaits promises is an ACK-E."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if s.stage[l] == PROMISING and member(s, l, f) and len(s.to_leader[f][l]) > 0:
                if s.to_leader[f][l][0].kind != ACK_E:
                    return False
    return True


def answers_newleader(s: State) -> bool:
    """What is in flight from Q to a leader that synchronizes is an acknowledgement of NEWLEADER."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if s.stage[l] == SYNCHRONIZING and member(s, l, f) and len(s.to_leader[f][l]) > 0:
                if s.to_leader[f][l][0].kind != ACK_LD:
                    return False
    return True


def answers_once(s: State) -> bool:
    """Nothing more is in flight from whoever's acknowledgement is counted."""
    return all(not (f in s.acked[l] and len(s.to_leader[f][l]) > 0) for l in range(s.NODES) for f in range(s.NODES))


def one_cepoch(s: State) -> bool:
    """No second CEPOCH is in flight to an established leader from whoever's CEPOCH it has taken."""
    return all(
        not (k < len(s.to_leader[f][l]) and s.to_leader[f][l][k].kind == CEPOCH)
        for l in range(s.NODES)
        for f in range(s.NODES)
        if s.stage[l] == ESTABLISHED and member(s, l, f)
        for k in range(s.UP)
    )


def ack_e_first(s: State) -> bool:
    """Nothing is in flight to an established leader from whoever's CEPOCH it has taken before an ACK-E."""
    return all(
        not (k > 0 and k < len(s.to_leader[f][l]) and s.to_leader[f][l][k].kind == ACK_E)
        for l in range(s.NODES)
        for f in range(s.NODES)
        if s.stage[l] == ESTABLISHED and member(s, l, f)
        for k in range(s.UP)
    )


def ack_e_of_joiner(s: State) -> bool:
    """No ACK-E is in flight to an established leader from anyone in its Q."""
    return all(
        not (k < len(s.to_leader[f][l]) and s.to_leader[f][l][k].kind == ACK_E)
        for l in range(s.NODES)
        for f in range(s.NODES)
        if s.stage[l] == ESTABLISHED and f in s.Q[l]
        for k in range(s.UP)
    )


def ack_ld_of_joiner(s: State) -> bool:
    """No acknowledgement of NEWLEADER is in flight to an established leader from anyone in its Q."""
    return all(
        not (k < len(s.to_leader[f][l]) and s.to_leader[f][l][k].kind == ACK_LD)
        for l in range(s.NODES)
        for f in range(s.NODES)
        if s.stage[l] == ESTABLISHED and f in s.Q[l]
        for k in range(s.UP)
    )


def ack_ld_next(s: State) -> bool:
    """From whoever's CEPOCH an established leader has taken, nothing but an ACK-E is in flight before an
    acknowledgement of NEWLEADER."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if s.stage[l] == ESTABLISHED and member(s, l, f):
                for k in range(s.UP):
                    for j in range(k):
                        if k < len(s.to_leader[f][l]) and s.to_leader[f][l][k].kind == ACK_LD:
                            if s.to_leader[f][l][j].kind != ACK_E:
                                return False
    return True


def ack_not_after_ack_e(s: State) -> bool:
    """From whoever's CEPOCH an established leader has taken, no acknowledgement of a proposal comes right behind an
    ACK-E."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if s.stage[l] == ESTABLISHED and member(s, l, f):
                for k in range(s.UP):
                    if k > 0 and k < len(s.to_leader[f][l]) and s.to_leader[f][l][k].kind == ACK:
                        if s.to_leader[f][l][k - 1].kind == ACK_E:
                            return False
    return True


def ack_not_first(s: State) -> bool:
    """What comes first from whoever joins is no acknowledgement of a proposal."""
    return all(
        not (f in s.joining[l] and len(s.to_leader[f][l]) > 0 and s.to_leader[f][l][0].kind == ACK)
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


CLAUSES = (
    clause(unasked_is_silent, "l.1.1"),
    clause(one_answer, "II, IV"),
    clause(answers_newepoch, "f.1.2"),
    clause(answers_newleader, "f.2.1"),
    clause(answers_once, "l.1.2, l.2.2"),
    clause(one_cepoch, "f.1.1"),
    clause(ack_e_first, "f.1.2"),
    clause(ack_e_of_joiner, "l.3.3"),
    clause(ack_ld_of_joiner, "l.3.4"),
    clause(ack_ld_next, "f.2.1"),
    clause(ack_not_after_ack_e, "f.3.2"),
    clause(ack_not_first, "f.3.2"),
)
