"""Small random event tables of broadcasts and deliveries."""

from __future__ import annotations

import random
from typing import Any

from traces.events.table import COLUMNS
from zabspec.second.definitions import Row


def small_table(seed: int) -> list[Row]:
    """A small random table: whoever likes broadcasts, often as the primary of a new epoch, and delivers or skips; in
    some tables also what is broadcast later."""
    source = random.Random(seed)
    nodes, skips = source.choice((2, 3)), source.choice((0.0, 0.1, 0.4))
    early = source.choice((0.0, 0.0, 0.3))
    txns: list[Row] = []
    for k in range(4):
        epoch = txns[-1]["epoch"] + (source.random() < 0.7) if txns else 1
        counter = 1 + sum(t["epoch"] == epoch for t in txns)
        txns.append({"epoch": epoch, "counter": counter, "identity": k})
    sent = 0
    had: dict[int, list[int]] = {p: [] for p in range(nodes)}
    rows: list[Row] = []

    def note(kind: str, **values: Any) -> None:
        rows.append(dict.fromkeys(name for name, *_ in COLUMNS) | {"kind": kind, "time": len(rows), "run": 0} | values)

    note("run", index=nodes)
    for _ in range(source.randint(3, 12)):
        p = source.randrange(nodes)
        if sent < len(txns) and source.random() < 0.4:
            note("abcast", process=p, primary_epoch=txns[sent]["epoch"], attempt=0, **txns[sent])
            sent += 1
            continue
        left = [k for k in range(len(txns) if source.random() < early else sent) if k not in had[p]]
        if left:
            k = left[0] if source.random() >= max(skips, early) else source.choice(left)
            had[p].append(k)
            note("abdeliver", process=p, **{"pass": 0}, **txns[k])
    return rows
