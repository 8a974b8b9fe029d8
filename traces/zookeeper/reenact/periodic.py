"""Periodic snapshots of real servers: when one can be due there, and which nodes a snapshot has.

SyncRequestProcessor starts a thread for one where it has appended a transaction. The settings (`PERIODIC`) make
each transaction of the run such a one, and the thread is held before it does anything (`gates.py`): so there is one at
most moments at which the model may say that a snapshot is due, and it begins where the model's does, or never.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from traces.record.trace import Step
from zabspec.zookeeper.state import LOOKING

# Settings: a snapshot is due at each transaction of more than 1 kB; before 3.6.0, which looks at no size, at each
# second of a term. Which of them begin is for the gates to say.
PERIODIC = ("-Dzookeeper.snapCount=2", "-Dzookeeper.snapSizeLimitInKb=1")
DUE, WRITTEN = "snapshot is due", "snapshot is written"
LARGE = 200  # how often a node's data repeat its path, so that a transaction has more than 1 kB


def takes_snapshots(variant: str) -> bool:
    """Return whether servers take periodic snapshots in a variant of the protocol, or end files of their logs so."""
    return bool({"snapshots", "rolls"} & {*variant.split(",")})


def waits_for_snapshots(variant: str) -> bool:
    """Return whether the end of a server's term waits for its snapshot thread in a variant (repair late-snapshot)."""
    return "late-snapshot" in variant.split(",")


def settings_of_each(
    variant: str, settings: tuple[str, ...], steps: Sequence[Step], servers: int
) -> list[tuple[str, ...]]:
    """Return the settings of each process's server in a run.

    A thread that is held at its start has the semaphore for which a repaired server waits when its term ends. So such
    servers start no thread if the model takes no snapshot of theirs.
    """
    takers = {s.process for s in steps if s.word.kind == "action" and s.label == DUE}
    none = tuple(s for s in settings if s not in PERIODIC)
    return [none if waits_for_snapshots(variant) and p not in takers else settings for p in range(servers)]


def thread_is_there(steps: Sequence[Step], p: int, least: int = 1, before: bool = True) -> bool:
    """Return whether a server's SyncRequestProcessor has started a thread that has not begun.

    That needs transactions that it has appended itself in this term, since the last snapshot was written: at others it
    finds its thread busy. In the model what the main thread appends counts, too, and what is queued.

    Args:
        steps: the run until now.
        least: how many transactions make a snapshot due.
        before: whether <1,1> was logged in the first term before the run.
    """
    appended = 0
    for step in reversed(steps):
        if step.state["role"][p] == LOOKING:
            return False
        action = step.label if step.word.kind == "action" and step.process == p else ""
        if action == WRITTEN:
            return False
        appended += action == "sync thread"
        if appended >= least:
            return True
    return before


def saved_nodes(path: Path, root: str) -> list[str]:
    """Return the nodes of the run in a snapshot; empty if it is not there.

    Args:
        root: their parent, which is <1,1> then; empty for the root of the tree, which is no transaction.
    """
    try:
        data = path.read_bytes()
    except OSError:
        return []
    parent = root.encode()
    found = {f"<{e.decode()},{n.decode()}>" for e, n in re.findall(re.escape(parent) + rb"/(\d+)-(\d+)", data)}
    return sorted(found | ({"<1,1>"} if parent and parent in data else set()))


def model_nodes(tree: int, said: Callable[[int], str]) -> list[str]:
    """Return the transactions of a tree of the model."""
    return sorted(said(zxid) for zxid in range(tree.bit_length()) if tree >> zxid & 1)


def is_saved(path: Path, since: int) -> bool:
    """Return whether a snapshot was written completely since then (FileSnap.serialize: a checksum, then "/")."""
    try:
        return path.stat().st_mtime_ns >= since and path.read_bytes()[-5:] == b"\0\0\0\1/"
    except OSError:
        return False
