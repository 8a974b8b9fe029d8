"""Names that options of commands about servers complete."""

from __future__ import annotations

from collections.abc import Iterable


def rows() -> Iterable[str]:
    from checker.zookeeper.rows import ROWS

    return (f"ZK-{r.issue}" for r in ROWS)


def variants() -> Iterable[str]:
    from zabspec.protocols.registry import PROTOCOLS

    return PROTOCOLS["zookeeper"].variants


def disks() -> Iterable[str]:
    from zabspec.zookeeper.timed.setting import DISKS

    return DISKS
