"""State what must be possible, since a protocol that does nothing keeps every invariant."""

from __future__ import annotations

from zabspec.proofs.abstract.invariant import Clause
from zabspec.proofs.abstract.logic import exists
from zabspec.proofs.abstract.vocabulary import (
    abcast, commit_ld, delivered, ep, epoch, established, hist, in_pass, initial, lt, newleader, order, ready, root,
    sooner,
)  # fmt: skip

WITNESSES = (
    Clause("an epoch is established", exists(lambda c: established(c)), "l.2.2 is taken."),  # noqa: PLW0108
    Clause("a primary is ready", exists(lambda c: ready(c)), "f.3.1 is taken."),  # noqa: PLW0108
    Clause(
        "a transaction is delivered",
        exists(lambda p, x: delivered(p, x) & (x != root())),
        "The premise of integrity and agreement.",
    ),
    Clause(
        "two processes deliver two transactions of one primary",
        exists(lambda p, g, x, y: (p != g) & sooner(x, y) & order(p, x, y) & delivered(g, y)),
        "The premise of total order and of local primary order.",
    ),
    Clause(
        "two epochs deliver",
        exists(lambda p, x, y: delivered(p, x) & delivered(p, y) & lt(epoch(x), epoch(y)) & (x != root())),
        "The premise of global primary order.",
    ),
    Clause(
        "a primary broadcasts after an earlier one's transaction was delivered",
        exists(lambda p, c, x, y: abcast(c, y) & delivered(p, x) & (x != root()) & lt(epoch(x), ep(c))),
        "The premise of primary integrity.",
    ),
    Clause(
        "a follower joins late",
        exists(lambda p, c, h: newleader(c, h) & ~initial(c, h) & commit_ld(p, c, h) & in_pass(p, h)),
        "l.3.3 and l.3.4 are taken, with a log that has grown, and the commit delivers from it.",
    ),
    Clause(
        "an epoch is established when a process lacks what an earlier one delivered",
        exists(lambda p, g, c, x: delivered(p, x) & ~hist(g, x) & established(c) & lt(epoch(x), ep(c))),
        "The premise of durability: not every process has it, and others' histories have been replaced.",
    ),
)
