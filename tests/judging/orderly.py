"""A long history in which nothing is wrong."""

from __future__ import annotations

from tests.histories import Abcast, Deliver, Instance, Txn

TXNS = 64  # 4 blocks of 16


def txn(k: int) -> Txn:
    return Txn(1, k, k + 1) if k < TXNS // 2 else Txn(2, k - TXNS // 2, k + 1)


def orderly(*, lag: int = 0, nodes: int = 3) -> list[Abcast | Deliver]:
    """p0 abcasts in epoch 1, then p1 in epoch 2; every process delivers all, the last so many behind."""
    events: list[Abcast | Deliver] = []
    for k in range(TXNS):
        epoch = 1 if k < TXNS // 2 else 2
        t = txn(k)
        events.append(Abcast(Instance(epoch, epoch - 1, 0), t))
        events += [Deliver(p, 0, t) for p in range(nodes - 1)]
        if k >= lag:
            events.append(Deliver(nodes - 1, 0, txn(k - lag)))
    return events


def delivery(events: list[Abcast | Deliver], p: int, k: int) -> int:
    return next(i for i, e in enumerate(events) if isinstance(e, Deliver) and e.process == p and e.txn == txn(k))
