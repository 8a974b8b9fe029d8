"""Keep the observed history, which is what a run shows the outside, as ghost fields of the state.

No handler reads these fields (the compiler checks); handlers cause them to change by calling the functions below, which
are the world's. The properties of `invariants/` are evaluated over them.

What is kept, and why it loses nothing:

- every abcast, in the order they happened: a transaction's identity (`value`, from 1) is its place in that order, so
  two transactions under one zxid stay two;
- Delta_p (Definition VI.4): what process p delivered, each transaction once, in the order of first delivery, over all
  its passes; `diverged` records that some pass of p was not prefix-compatible with the ones before it;
- for each transaction the least epoch in which a quorum ever accepted it. Later epochs need no record: a transaction
  chosen in e must be in every later initial history, which includes those later than any e' > e;
- for each transaction the greatest established epoch whose initial history lacks it, or has it behind one of a later
  zxid: the sequences of chosen transactions (VI.2, VI.3) are in the order of zxids.

`tests/protocols/test_history_abstraction.py` compares these with complete histories.
"""

from __future__ import annotations

from zabspec.language import NODE, Bool, Field, Int, NodeId, Record, Role, Seq, SetOf
from zabspec.language.python.lang import History, Node, State, Txn, is_quorum, new_identity


def history_fields(nodes: int, txns: int, epoch: Int, txn: Record, literal: bool, revises: bool) -> tuple[Field, ...]:
    """Return the fields of the observed history.

    Args:
        literal: include what only the literal reading of invariant 5 needs.
        revises: the protocol may replace what it has delivered.
    """
    ghost = Role.GHOST

    def fact(name: str, kind: Int | Record | Seq | SetOf, axes: tuple[str | int, ...], doc: str) -> Field:
        return Field(name, kind, ghost, axes, doc, observed=True)

    return (
        # how many requests the application has made: of no ghost, since abcast_txn says the same
        Field("abcasts", Int(0, txns, "--txns"), Role.BUDGET, (), "transactions abcast so far", observed=True),
        fact("abcast_txn", txn, (txns,), "the transaction of each abcast"),
        fact("abcast_by", NodeId.of(nodes), (txns,), "the primary that abcast it"),
        fact("abcast_attempt", Int(0, txns, "--txns"), (txns,), "its instance: 0 for the first of its epoch to abcast"),
        fact("abcast_after", SetOf(txns), (txns,), "what its primary had delivered by then (index = value - 1)"),
        fact("chosen_epoch", epoch, (txns,), "least epoch in which a quorum accepted it (VI.1); 0: not chosen"),
        fact("missing_epoch", epoch, (txns,), "greatest established epoch whose initial history lacks it in its place"),
        fact(
            "accepted",
            SetOf(nodes, nodes=True),
            (epoch.hi + 1, txns),
            "who accepted it in an epoch before chosen_epoch",
        ),
        fact("established", Int(0, 2), (epoch.hi + 1,), "leaders established in each epoch (V.1); 2: two or more"),
        fact(
            "delivered", Seq(txn, txns, "--txns"), (NODE,), "Delta_p (VI.4): unique deliveries, in order of the first"
        ),
        fact("pass_length", Int(0, txns, "--txns"), (NODE,), "deliveries in the pass under way"),
        fact("diverged", Bool(), (NODE,), "a pass was not prefix-compatible with an earlier one"),
        fact(
            "synced_length", Int(0, txns if literal else 0), (NODE,), "deliveries of the pass that were made in Phase 2"
        ),
        fact(
            "revised", Int(0, 2 * revises), (NODE,), "it replaced its history when it had delivered; 2: and what it had"
        ),
        fact("abcast_in_pass", Bool(), (NODE,), "the leadership under way has abcast"),
    )


def abcasts_left(s: State) -> bool:
    """Return whether the application may abcast again in this run."""
    return s.abcasts < s.TXNS


@new_identity
def abcast(s: State, p: Node, epoch: int, counter: int) -> Txn:
    """Abcast a new transaction of primary p under zxid <epoch, counter>."""
    k = s.abcasts
    t = Txn(epoch=epoch, counter=counter, value=k + 1)
    s.abcast_attempt[k] = attempt_of(s, p, epoch)
    for e in range(s.EPOCHS + 1):
        if s.established[e] > 0:
            s.missing_epoch[k] = e
    s.abcast_txn[k] = t
    s.abcast_by[k] = p
    for j in range(len(s.delivered[p])):
        s.abcast_after[k].add(s.delivered[p][j].value - 1)
    s.abcast_in_pass[p] = True
    s.abcasts = k + 1
    return t


def attempt_of(s: State, p: Node, epoch: int) -> int:
    """Return the instance as which p abcasts.

    It is the one of p's last abcast in the current leadership, or the next one of the epoch.
    """
    attempt = 0
    for j in range(s.TXNS):
        if j < s.abcasts and s.abcast_txn[j].epoch == epoch:
            attempt = max(attempt, s.abcast_attempt[j] + 1)
    for j in range(s.TXNS):
        if j < s.abcasts and s.abcast_txn[j].epoch == epoch and s.abcast_by[j] == p and s.abcast_in_pass[p]:
            attempt = s.abcast_attempt[j]
    return attempt


def abdeliver(s: State, p: Node, t: Txn) -> None:
    """Deliver t at process p, at the next place of its pass."""
    note_delivery(s, t)
    place = s.pass_length[p]
    if place < len(s.delivered[p]):
        if s.delivered[p][place] != t:
            s.diverged[p] = True
            if not has_delivered(s, p, t):
                s.delivered[p].append(t)
    elif has_delivered(s, p, t):
        s.diverged[p] = True
    else:
        s.delivered[p].append(t)
    if place < s.TXNS:
        s.pass_length[p] = place + 1


def note_delivery(s: State, t: Txn) -> None:
    """Record the delivery of a transaction in the step, if `zabspec/worlds/deliveries.py` overrides this."""


def has_delivered(s: State, p: Node, t: Txn) -> bool:
    """Return whether t is in Delta_p."""
    for k in range(len(s.delivered[p])):
        if s.delivered[p][k] == t:
            return True
    return False


def end_pass(s: State, p: Node) -> None:
    """End the iteration of process p: the next delivery begins a new pass."""
    note_pass(s, p)
    s.pass_length[p] = 0
    if s.LITERAL == 1:
        s.synced_length[p] = 0
    end_leadership(s, p)


def note_pass(s: State, p: Node) -> None:
    """Record the end of p's pass, if `zabspec/passes.py` overrides this."""


def end_leadership(s: State, p: Node) -> None:
    """End the leadership of process p: what it abcasts next belongs to another instance."""
    s.abcast_in_pass[p] = False


def end_synchronization(s: State, p: Node) -> None:
    """Record that what process p has delivered in this pass, it delivered in Phase 2 (f.2.2)."""
    if s.LITERAL == 1:
        s.synced_length[p] = s.pass_length[p]


def revise(s: State, p: Node, history: History) -> None:
    """Record that process p has replaced its history.

    An entry that it has delivered in this pass may have vanished, changed, or have another before it.
    """
    for k in range(s.pass_length[p]):
        s.revised[p] = max(s.revised[p], 1)
        if k >= len(history) or (k < len(s.delivered[p]) and history[k] != s.delivered[p][k]):
            s.revised[p] = 2


def accept(s: State, p: Node, epoch: int, t: Txn) -> None:
    """Accept the proposal <epoch, t> at process p (f.2.1 or f.3.2).

    A quorum makes it chosen (VI.1), and it stays so. Nothing is chosen in epoch 0, in which no primary abcasts.
    """
    s.accepts = s.accepts + 1
    s.accept_epoch = epoch
    if t.value == 0 or epoch == 0:
        return
    k = t.value - 1
    chosen = s.chosen_epoch[k]
    if chosen == 0 or epoch < chosen:
        s.accepted[epoch][k].add(p)
        if is_quorum(s, s.accepted[epoch][k]):
            s.chosen_epoch[k] = epoch
            for e in range(s.EPOCHS + 1):
                if e >= epoch:
                    s.accepted[e][k].clear()


def establish(s: State, epoch: int, initial: History) -> None:
    """Record that a quorum has accepted NEWLEADER(epoch, initial), so that its leader is established (V.1)."""
    if s.established[epoch] < 2:
        s.established[epoch] = s.established[epoch] + 1
    for k in range(s.TXNS):
        if k < s.abcasts and s.missing_epoch[k] < epoch and not has_in_place(initial, s.abcast_txn[k]):
            s.missing_epoch[k] = epoch


def has_in_place(h: History, t: Txn) -> bool:
    """Return whether a history has t, and no transaction of a later zxid before it."""
    for j in range(len(h)):
        if h[j] == t:
            return True
        if h[j].epoch > t.epoch or (h[j].epoch == t.epoch and h[j].counter > t.counter):
            return False
    return False
