"""An ensemble that is healthy, as files, and what the audit says of one."""

from __future__ import annotations

from pathlib import Path

from tests.zookeeper.written import Txn, Written, ensemble, history, server, zxid
from traces.zookeeper.audit.audit import Audit, audit
from traces.zookeeper.disk.server import find_directory
from zabspec.zoo_cfg import parse

TXNS = history((1, 14), (2, 10), (3, 6))
OLD = history((1, 14), (2, 10), (3, 6), digests=False)


def healthy(txns: list[Txn] = TXNS) -> list[Written]:
    return [server(txns), server(txns, zxid(1, 9), zxid(3, 1)), server(txns, zxid(2, 4))]


def without(txns: list[Txn], *gone: int) -> list[Txn]:
    return [t for t in txns if t.zxid not in gone]


def missing_one(s: list[Written]) -> Written:
    return server(without(TXNS, zxid(2, 3)))


def looked_at(folder: Path, servers: list[Written], config: str | None = None) -> Audit:
    return audit([find_directory([p], p.name) for p in ensemble(folder, *servers)], config and parse(config.encode()))
