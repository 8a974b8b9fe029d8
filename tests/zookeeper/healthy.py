"""An ensemble that is healthy, as files, and the servers that tests put in the place of one of its."""

from __future__ import annotations

from tests.zookeeper.written import Tree, Txn, Written, history, server, snapshot_bytes, zxid

TXNS = history((1, 14), (2, 10), (3, 6))


def healthy(txns: list[Txn] = TXNS) -> list[Written]:
    return [server(txns), server(txns, zxid(1, 9), zxid(3, 1)), server(txns, zxid(2, 4))]


def without(txns: list[Txn], *gone: int) -> list[Txn]:
    return [t for t in txns if t.zxid not in gone]


def missing_one(s: list[Written]) -> Written:
    return server(without(TXNS, zxid(2, 3)))


def with_rest(s: Written) -> Written:
    """What a server has besides a log that is written as it is."""
    if not s.files and s.raw:
        s.current = 3
        s.snapshots[0] = snapshot_bytes(Tree(), 0)
    return s
