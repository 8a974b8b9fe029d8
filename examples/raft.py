"""Raft with its log (Ongaro and Ousterhout, 2014): a leader has a majority store each entry, and commits it.

    zabcheck --protocol example:raft
    zabcheck --protocol example:raft --variant any-term --start figure-8     what Figure 8 of the paper shows
    zabcheck --protocol example:raft --variant no-op         a leader waits for an entry of its own: primary integrity
    zabcheck --protocol example:raft --variant blind         a voter does not compare logs
    zabcheck --protocol example:raft --variant unchecked     a follower does not compare what stands before an entry

A transaction's epoch is the term in which a leader appended it. One APPEND carries at most one entry.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY, AtMost, Each, Epoch, Fields, MessageType, Node, OneOf, Range, SeqOf, Size, Start, Txn, Variant, abcast,
    abdeliver, accept, action, broken, declare, end_leadership, end_pass, forget, ghost, is_quorum, observation,
    receives, safety, send, stored, volatile,
)  # fmt: skip

FOLLOWER, CANDIDATE, LEADER = range(3)
EARLIER = 2  # terms before those of the elections, in the start `figure-8`


def epochs(size: Size) -> int:
    return EARLIER + max(1, size.elections)


def places(size: Size) -> int:
    """Entries of a log: transactions, and of each term at most one that is none."""
    return size.txns + epochs(size)


Log = Annotated[SeqOf[Txn], AtMost(places, "--txns")]
Slot = Annotated[int, Range(0, lambda size: places(size) - 1)]
Length = Annotated[int, Range(0, places, "--txns")]


class REQUEST_VOTE(MessageType):
    term: Epoch
    length: Length
    last_term: Epoch


class VOTE(MessageType):
    term: Epoch
    granted: bool


class APPEND(MessageType):
    term: Epoch
    after: Length
    after_term: Epoch
    filled: bool
    txn: Txn
    committed: Length


class APPENDED(MessageType):
    term: Epoch
    stored: bool
    length: Length


class State(Fields):
    term: Each[Node, Epoch] = stored("the latest term it has seen (currentTerm)")
    voted_for: Each[Node, Node] = stored("whom it voted for in this term")
    log: Each[Node, Log] = stored("its log; value 0: an entry that is no transaction")
    role: Each[Node, Annotated[int, OneOf("FOLLOWER", "CANDIDATE", "LEADER")]] = volatile("what it is")
    votes: Each[Node, set[Node]] = volatile("who has voted for it in this term")
    acks: Each[Node, Each[Slot, set[Node]]] = volatile("of a leader: who has its log up to an entry")
    committed: Each[Node, Length] = volatile("how many entries it knows to be committed (commitIndex)")
    led: Each[Annotated[int, Range(0, epochs)], set[Node]] = ghost("who has led in a term")
    chosen: Each[Slot, Epoch] = ghost("the term of the entry first committed at a place; 0: none")
    chosen_in: Each[Slot, Epoch] = ghost("and the term of the leader that did")
    TXNS: int
    ELECTIONS: int


# --- election -------------------------------------------------------------------------------------


def term_at(s: State, p: Node, length: int) -> int:
    """The term of the last of so many entries; 0: there are none."""
    return s.log[p][length - 1].epoch if length > 0 else 0


@action(when=lambda s, p: s.role[p] != LEADER, budget="elections")
def campaign(s: State, p: Node) -> None:
    """Its election timer has run out."""
    s.term[p] += 1
    s.role[p] = CANDIDATE
    s.voted_for[p] = p
    s.votes[p] = {p}
    length = len(s.log[p])
    for q in range(s.NODES):
        if q != p:
            send(s, p, q, REQUEST_VOTE(term=s.term[p], length=length, last_term=term_at(s, p, length)))


def step_down(s: State, p: Node, term: int) -> None:
    """Whoever sees a later term follows in it."""
    if term > s.term[p]:
        s.term[p] = term
        s.voted_for[p] = NOBODY
        follow(s, p)


def follow(s: State, p: Node) -> None:
    s.role[p] = FOLLOWER
    s.votes[p].clear()
    for k in range(s.TXNS + EARLIER + s.ELECTIONS):
        s.acks[p][k].clear()
    end_leadership(s, p)


def up_to_date(s: State, p: Node, length: int, last_term: int) -> bool:
    """Whether a candidate's log is no older than p's: its last entry is of a later term, or it is no shorter."""
    own = term_at(s, p, len(s.log[p]))
    return last_term > own or (last_term == own and length >= len(s.log[p]))


@receives
def on_request_vote(s: State, p: Node, source: Node, m: REQUEST_VOTE) -> None:
    step_down(s, p, m.term)
    free = s.voted_for[p] == NOBODY or s.voted_for[p] == source
    granted = m.term == s.term[p] and free and up_to_date(s, p, m.length, m.last_term)
    if granted:
        s.voted_for[p] = source
    send(s, p, source, VOTE(term=s.term[p], granted=granted))


@receives
def on_vote(s: State, p: Node, source: Node, m: VOTE) -> None:
    step_down(s, p, m.term)
    if m.term == s.term[p] and m.granted and s.role[p] == CANDIDATE:
        s.votes[p].add(source)
        if is_quorum(s, s.votes[p]):
            lead(s, p)


def lead(s: State, p: Node) -> None:
    s.role[p] = LEADER
    s.votes[p].clear()
    leads(s, p, s.term[p])
    opening(s, p)
    for k in range(len(s.log[p])):
        s.acks[p][k].add(p)
        accepted(s, p, s.term[p], s.log[p][k])
    for q in range(s.NODES):
        if q != p:
            replicate(s, p, q, before_opening(s, p))


def opening(s: State, p: Node) -> None:
    """What a new leader appends before any request: nothing."""


def before_opening(s: State, p: Node) -> int:
    return len(s.log[p])


# --- replication ----------------------------------------------------------------------------------


def ready(s: State, p: Node) -> bool:
    """Whether a leader takes requests: at once."""
    return True


def may_abcast(s: State, p: Node) -> bool:
    return s.role[p] == LEADER and ready(s, p)


def on_abcast(s: State, p: Node) -> None:
    """A client asks the leader, which appends to its log."""
    count = 1 + sum(1 for t in s.log[p] if t.epoch == s.term[p] and t.value > 0)
    added = abcast(s, p, s.term[p], count)
    s.log[p].append(added)
    accepted(s, p, s.term[p], added)
    length = len(s.log[p])
    s.acks[p][length - 1].add(p)
    for q in range(s.NODES):
        if q != p:
            replicate(s, p, q, length - 1)
    commit_what_it_may(s, p)


def replicate(s: State, p: Node, q: Node, after: int) -> None:
    """The leader sends q the entry after so many, or that there is none."""
    filled = after < len(s.log[p])
    t = Txn(epoch=0, counter=0, value=0)
    if filled:
        t = s.log[p][after]
    before = term_at(s, p, after)
    done = s.committed[p]
    send(s, p, q, APPEND(term=s.term[p], after=after, after_term=before, filled=filled, txn=t, committed=done))


def fits(s: State, p: Node, after: int, term: int) -> bool:
    """Whether p's log has an entry of that term before the new one: by induction, all before are the leader's."""
    return after <= len(s.log[p]) and term_at(s, p, after) == term


@receives
def on_append(s: State, p: Node, source: Node, m: APPEND) -> None:
    step_down(s, p, m.term)
    stored = False
    length = 0
    if m.term == s.term[p]:
        s.role[p] = FOLLOWER
        s.votes[p].clear()
        stored = fits(s, p, m.after, m.after_term)
        length = m.after if stored else max(0, min(len(s.log[p]), m.after - 1))
    if stored:
        if m.filled:
            put(s, p, m.after, m.txn)
            length = length + 1
        for k in range(len(s.log[p])):
            if k < length:
                accepted(s, p, m.term, s.log[p][k])
        commit(s, p, min(m.committed, length))
    send(s, p, source, APPENDED(term=s.term[p], stored=stored, length=length))


def put(s: State, p: Node, after: int, t: Txn) -> None:
    """An entry that conflicts with the new one goes, with all that follow it."""
    if after < len(s.log[p]) and s.log[p][after] != t:
        for _ in range(s.TXNS + EARLIER + s.ELECTIONS):
            if len(s.log[p]) > after:
                s.log[p].pop()
    if after == len(s.log[p]):
        s.log[p].append(t)


@receives
def on_appended(s: State, p: Node, source: Node, m: APPENDED) -> None:
    step_down(s, p, m.term)
    if m.term == s.term[p] and s.role[p] == LEADER:
        if m.stored:
            for k in range(m.length):
                s.acks[p][k].add(source)
            commit_what_it_may(s, p)
        if m.length < len(s.log[p]):
            replicate(s, p, source, m.length)


def may_commit(s: State, p: Node, k: int) -> bool:
    """A leader commits an entry of its own term that a majority has, and with it all before (5.4.2)."""
    return is_quorum(s, s.acks[p][k]) and s.log[p][k].epoch == s.term[p]


def commit_what_it_may(s: State, p: Node) -> None:
    length = s.committed[p]
    for k in range(len(s.log[p])):
        if may_commit(s, p, k):
            length = max(length, k + 1)
    if length > s.committed[p]:
        for k in range(len(s.log[p])):
            if s.committed[p] <= k and k < length:
                commits(s, k, s.log[p][k].epoch, s.term[p])
        commit(s, p, length)
        for q in range(s.NODES):
            if q != p:
                replicate(s, p, q, len(s.log[p]))


def commit(s: State, p: Node, length: int) -> None:
    """What is committed is delivered, in the order of the log."""
    for k in range(len(s.log[p])):
        if k == s.committed[p] and k < length:
            s.committed[p] = k + 1
            if s.log[p][k].value > 0:
                abdeliver(s, p, s.log[p][k])


def accepted(s: State, p: Node, term: int, t: Txn) -> None:
    if t.value > 0:
        accept(s, p, term, t)


def on_crash(s: State, p: Node) -> None:
    forget(s, p)
    end_pass(s, p)


# --- what must hold (Figure 3 of the paper) -------------------------------------------------------


@observation
def leads(s: State, p: Node, term: int) -> None:
    s.led[term].add(p)


@observation
def commits(s: State, place: int, entry_term: int, term: int) -> None:
    """A leader commits an entry."""
    if s.chosen[place] == 0:
        s.chosen[place] = entry_term
        s.chosen_in[place] = term


def someone_has_led(s: State) -> bool:
    """A process has led."""
    return any(len(s.led[t]) > 0 for t in range(EARLIER + s.ELECTIONS + 1))


@safety(over="history", witness=someone_has_led)
def election_safety(s: State) -> bool:
    """At most one leader is elected in a term."""
    return all(
        len(s.led[t]) <= 1 or broken(f"{s.led[t]} have led in term {t}") for t in range(EARLIER + s.ELECTIONS + 1)
    )


def two_have(s: State) -> bool:
    """Two logs have an entry of one term at one place."""
    return any(
        p != q and len(s.log[p]) > 0 and len(s.log[q]) > 0 and s.log[p][0].epoch == s.log[q][0].epoch
        for p in range(s.NODES)
        for q in range(s.NODES)
    )


@safety(witness=two_have)
def log_matching(s: State) -> bool:
    """Two logs with an entry of one term at one place have the same entries up to it."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            alike = True
            for k in range(min(len(s.log[p]), len(s.log[q]))):
                alike = alike and s.log[p][k] == s.log[q][k]
                if s.log[p][k].epoch == s.log[q][k].epoch and not alike:
                    return broken(f"the logs of p{p} and p{q} have a term in common at place {k + 1}, and differ")
    return True


def later_leader(s: State) -> bool:
    """A process leads in a later term than that in which an entry was committed."""
    return any(s.role[p] == LEADER and s.chosen[0] > 0 and s.term[p] > s.chosen_in[0] for p in range(s.NODES))


@safety(witness=later_leader)
def leader_completeness(s: State) -> bool:
    """What is committed in a term is in the logs of the leaders of all later terms."""
    for p in range(s.NODES):
        for k in range(s.TXNS + EARLIER + s.ELECTIONS):
            if s.role[p] == LEADER and s.chosen[k] > 0 and s.term[p] > s.chosen_in[k]:
                if k >= len(s.log[p]) or s.log[p][k].epoch != s.chosen[k]:
                    return broken(f"p{p} leads in term {s.term[p]} without entry {k + 1}, of term {s.chosen[k]}")
    return True


def two_have_applied(s: State) -> bool:
    """Two processes have applied an entry."""
    return any(p != q and s.committed[p] > 0 and s.committed[q] > 0 for p in range(s.NODES) for q in range(s.NODES))


@safety(witness=two_have_applied)
def state_machine_safety(s: State) -> bool:
    """No two processes apply different entries at one place."""
    return all(
        s.log[p][k] == s.log[q][k] or broken(f"p{p} has applied {s.log[p][k]} at place {k + 1}, and p{q} {s.log[q][k]}")
        for p in range(s.NODES)
        for q in range(s.NODES)
        for k in range(min(s.committed[p], s.committed[q]))
    )


# --- Figure 8, up to its part (b) -----------------------------------------------------------------


def figure_8(s: State) -> None:
    """p0 and p1 have led in terms 1 and 2, and each has appended an entry that nobody else has."""
    for p in range(s.NODES):
        s.term[p] = EARLIER
        s.voted_for[p] = 1
    for k in range(EARLIER):
        s.log[k].append(Txn(epoch=k + 1, counter=0, value=0))
        s.led[k + 1].add(k)


# --- with one rule changed ------------------------------------------------------------------------


def append_no_op(s: State, p: Node) -> None:
    s.log[p].append(Txn(epoch=s.term[p], counter=0, value=0))


def last_before(s: State, p: Node) -> int:
    return len(s.log[p]) - 1


def has_committed_its_own(s: State, p: Node) -> bool:
    """Whether it has committed an entry of its term: it has then delivered all that was committed before."""
    return any(s.log[p][k].epoch == s.term[p] for k in range(s.committed[p]))


def of_any_term(s: State, p: Node, k: int) -> bool:
    return is_quorum(s, s.acks[p][k])


def any_log(s: State, p: Node, length: int, last_term: int) -> bool:
    return True


def long_enough(s: State, p: Node, after: int, term: int) -> bool:
    return after <= len(s.log[p])


def forget_vote(s: State, p: Node) -> None:
    s.voted_for[p] = NOBODY
    forget(s, p)
    end_pass(s, p)


PROTOCOL = declare(
    __name__,
    budgets={"elections": 2, "crashes": 0},
    network="fifo",
    transactions=True,
    epochs=epochs,
    starts=[Start("figure-8", "p0 and p1 have an entry each, of terms 1 and 2", figure_8)],
    variants=[
        Variant(
            "no-op",
            "a leader appends an entry that is no transaction, and takes requests when it is committed",
            {"opening": append_no_op, "before_opening": last_before, "ready": has_committed_its_own},
            rule="8",
            safe=True,
        ),
        Variant("any-term", "what a majority has is committed, of whatever term", {"may_commit": of_any_term}, "5.4.2"),
        Variant("blind", "a voter does not compare logs", {"up_to_date": any_log}, rule="5.4.1"),
        Variant("unchecked", "a follower compares no terms", {"fits": long_enough}, rule="5.3"),
        Variant("forgetful", "a vote does not survive a crash", {"on_crash": forget_vote}, rule="5.2"),
    ],
)
