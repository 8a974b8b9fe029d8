"""The database of a server, in memory and on its disk: ZKDatabase, FileTxnSnapLog, FileTxnLog, FileSnap."""

from __future__ import annotations

from zabspec.language.lang import Node, State
from zabspec.protocols.zookeeper.state import WIDTH


def apply_txn(s: State, p: Node, zxid: int) -> None:
    """ZooKeeperServer.processTxn(Request): into the tree, and into committedLog (ZKDatabase.addCommittedProposal)."""
    apply_to_tree(s, p, zxid)
    s.committed_log[p].append(zxid)


def apply_to_tree(s: State, p: Node, zxid: int) -> None:
    """DataTree.processTxn: lastProcessedZxid only grows."""
    s.tree[p] = s.tree[p] | (1 << zxid)
    s.last_processed[p] = max(s.last_processed[p], zxid)


def fast_forward(s: State, p: Node) -> None:
    """ZKDatabase.fastForwardDataBase: log records past lastProcessedZxid are applied, committed or not, and enter
    committedLog (FileTxnSnapLog.fastForwardFromEdits; no continuity is checked)."""
    for zxid in s.log[p]:
        if zxid > s.last_processed[p]:
            apply_txn(s, p, zxid)


def load_newest(s: State, p: Node, limit: int) -> None:
    """FileTxnSnapLog.restore: the newest snapshot whose name is at most `limit`, then what the log has after it."""
    s.committed_log[p].clear()
    newest = newest_snapshot(s, p, limit)
    s.tree[p] = saved_tree(s, p, newest)
    s.last_processed[p] = newest
    for zxid in s.log[p]:
        if zxid > s.last_processed[p] and zxid <= limit:
            apply_txn(s, p, zxid)


def newest_snapshot(s: State, p: Node, limit: int) -> int:
    """The name of the newest snapshot up to a limit; 0: there is none."""
    newest = 0
    for name in s.snapshot_names[p]:
        if name <= limit:
            newest = max(newest, name)
    return newest


def saved_tree(s: State, p: Node, name: int) -> int:
    """What snapshot.<name> holds; nothing where there is none of that name."""
    tree = 0
    for k in range(len(s.snapshot_names[p])):
        if s.snapshot_names[p][k] == name:
            tree = s.snapshot_trees[p][k]
    return tree


def restore(s: State, p: Node) -> None:
    """ZKDatabase.loadDataBase: from everything that is on the disk."""
    load_newest(s, p, last_zxid(s))


def last_zxid(s: State) -> int:
    """No zxid is larger."""
    return (s.ELECTIONS + 2) * WIDTH - 1


def take_snapshot(s: State, p: Node) -> None:
    """ZooKeeperServer.takeSnapshot: snapshot.<lastProcessedZxid>; one of that name is written over. Left out is one of
    an empty tree at <0,0>: a start without it begins with just that."""
    there = s.tree[p] == 0 and s.last_processed[p] == 0
    for k in range(len(s.snapshot_names[p])):
        if s.snapshot_names[p][k] == s.last_processed[p]:
            s.snapshot_trees[p][k] = s.tree[p]
            there = True
    if not there:
        s.snapshot_names[p].append(s.last_processed[p])
        s.snapshot_trees[p].append(s.tree[p])


def cut_log(s: State, p: Node, zxid: int) -> bool:
    """FileTxnLog.truncate: drops every record after a zxid. False: the log has none from there on, and it throws."""
    found = False
    for k in range(len(s.log[p])):
        if s.log[p][k] >= zxid:
            found = True
    if found:
        for _ in range(s.PROPOSALS + 8):
            last = len(s.log[p]) - 1
            if last >= 0 and s.log[p][last] > zxid:
                s.log[p].remove(last)
    return found


def reload_after_cut(s: State, p: Node, zxid: int) -> None:
    """ZKDatabase.truncateLog, after the log was cut: loadDataBase takes the newest snapshot, also one later than the
    cut (ZOOKEEPER-4837)."""
    restore(s, p)
