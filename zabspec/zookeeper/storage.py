"""The database of a server, in memory and on its disk: ZKDatabase, FileTxnSnapLog, FileTxnLog, FileSnap."""

from __future__ import annotations

from zabspec.language.python.lang import Node
from zabspec.zookeeper.state import State, WIDTH


def apply_txn(s: State, p: Node, zxid: int) -> None:
    """ZooKeeperServer.processTxn(Request): into the tree, and into committedLog."""
    apply_to_tree(s, p, zxid)
    add_committed(s, p, zxid)


def add_committed(s: State, p: Node, zxid: int) -> None:
    """ZKDatabase.addCommittedProposal: what is not later than the last there is not added (3.9.4). That a hole
    inside an epoch throws there is the variant `hole`."""
    count = len(s.committed_log[p])
    if count == 0 or zxid > s.committed_log[p][count - 1]:
        s.committed_log[p].append(zxid)


def meets_hole(s: State, p: Node) -> bool:
    """Whether that has thrown (`hole`)."""
    return False


def ends_by_hole(s: State, p: Node) -> None:
    """What comes of that where a term ends, and fastForwardDataBase has met it (`hole`)."""


def apply_to_tree(s: State, p: Node, zxid: int) -> None:
    """DataTree.processTxn: lastProcessedZxid only grows."""
    s.tree[p] = with_txn(s, s.tree[p], zxid)
    s.last_processed[p] = max(s.last_processed[p], zxid)


def with_txn(s: State, tree: int, zxid: int) -> int:
    """A tree to which a transaction is applied. Each is of a node of its own, unless all are of one (`one-node`)."""
    return tree | (1 << zxid)


def fast_forward(s: State, p: Node) -> None:
    """ZKDatabase.fastForwardDataBase, FileTxnSnapLog.fastForwardFromEdits: from the first log record past
    lastProcessedZxid on, all are applied, committed or not, and enter committedLog; no continuity is checked."""
    ahead = False
    first = opens_at(s, p, s.last_processed[p] + 1)
    for k in range(len(s.log[p])):
        zxid = s.log[p][k]
        if k >= first and zxid > s.last_processed[p]:
            ahead = True
        if ahead:
            apply_txn(s, p, zxid)


def load_newest(s: State, p: Node, limit: int) -> None:
    """FileTxnSnapLog.restore: the newest snapshot whose name is at most `limit`, then what the log has after it. That
    there is none means snapshot.0, of an empty tree: the first start saves it (zookeeper.db.autocreate)."""
    leave_tree(s, p)
    s.committed_log[p].clear()
    newest = newest_snapshot(s, p, limit)
    s.tree[p] = saved_tree(s, p, newest)
    s.last_processed[p] = newest
    fast_forward(s, p)


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
    """ZooKeeperServer.takeSnapshot: snapshot.<lastProcessedZxid>. FileSnap.serialize is synchronized: one that a thread
    is writing comes first."""
    leave_tree(s, p)
    save_snapshot_as(s, p, s.last_processed[p])


def save_snapshot_as(s: State, p: Node, name: int) -> None:
    """FileTxnSnapLog.save: snapshot.<name>; one of that name is written over. Left out is one of an empty tree at
    <0,0>: a start without it begins with just that."""
    there = (s.tree[p] == 0 and name == 0) or s.closed[p]
    for k in range(len(s.snapshot_names[p])):
        if s.snapshot_names[p][k] == name and not s.closed[p]:
            s.snapshot_trees[p][k] = s.tree[p]
            there = True
    if not there:
        s.snapshot_names[p].append(name)
        s.snapshot_trees[p].append(s.tree[p])
    leave_unforced(s, p, name)


def leave_unforced(s: State, p: Node, name: int) -> None:
    """What is forced makes no difference unless power is lost (`power`)."""


def leave_tree(s: State, p: Node) -> None:
    """ZKDatabase.clear: another DataTree takes the place of this one; or FileSnap waits for a thread that saves it.
    What that writes is certain then (`snapshots`)."""


def leave_thread(s: State, p: Node) -> None:
    """A thread that saves the tree goes on in the next term (`snapshots`)."""


def remember_log(s: State, p: Node) -> None:
    """The log before a TRUNC (`power`)."""


def remember_cut(s: State, p: Node) -> None:
    """What a TRUNC has cut (`power`)."""


def lose_unforced(s: State, p: Node) -> None:
    """A crash of the process leaves what it has written (`power`: not)."""


def cut_log(s: State, p: Node, zxid: int) -> bool:
    """FileTxnLog.truncate, in every release: FileTxnIterator stands behind the first record that is not earlier, and
    what comes after is dropped. So where the log does not hold z itself, the first record behind the cut stays. False:
    the log has none from there on, and it throws."""
    kept = 0
    found = False
    first = opens_at(s, p, zxid)
    for k in range(len(s.log[p])):
        if k >= first and not found:
            kept = k + 1
            found = s.log[p][k] >= zxid
    if found:
        drop_behind(s, p, kept)
    return found


def first_from(s: State, p: Node, zxid: int) -> int:
    """Where FileTxnIterator.init stands (FileTxnIterator.next, FileTxnIterator.goToNextLog): the first record
    that is not earlier; 0: there is none."""
    first = 0
    begin = opens_at(s, p, zxid)
    for k in range(len(s.log[p])):
        if k >= begin and first == 0 and s.log[p][k] >= zxid:
            first = s.log[p][k]
    return first


def drop_behind(s: State, p: Node, kept: int) -> None:
    """RandomAccessFile.setLength, and later files are deleted: the first `kept` records stay."""
    for _ in range(s.PROPOSALS + 8):
        last = len(s.log[p]) - 1
        if last < kept:
            break
        s.log[p].pop(last)


def append_to_log(s: State, p: Node, zxid: int) -> None:
    """FileTxnLog.append: behind all records. That a file of the same name is written over is the variant
    `log-files`."""
    s.log[p].append(zxid)


def log_in_thread(s: State, p: Node, zxid: int) -> None:
    """SyncRequestProcessor.run: FileTxnLog.append."""
    append_to_log(s, p, zxid)
    roll_behind(s, p)


def roll_behind(s: State, p: Node) -> None:
    """SyncRequestProcessor.run: FileTxnSnapLog.rollLog, where a snapshot is due (`rolls`)."""


def opens_at(s: State, p: Node, zxid: int) -> int:
    """Where the file begins that FileTxnIterator.init opens for a zxid. In a log that ascends, what files before it
    hold is earlier (`log-files`: where not)."""
    return 0


def move_files(s: State, p: Node, at: int, by: int) -> None:
    """Where records come into the log, or go, files behind them begin elsewhere (`log-files`)."""


def close_file(s: State, p: Node) -> None:
    """The next append begins a file (`log-files`), where the text without that has none to end."""


def end_file(s: State, p: Node) -> None:
    """Files of the log are not told apart unless it is read for learners (`walk`), or they are named (`log-files`)."""


def ends_a_file(s: State, p: Node) -> bool:
    """Whether a start makes a difference to them."""
    return False


def reload_after_cut(s: State, p: Node, zxid: int, stood: int) -> None:
    """ZKDatabase.truncateLog, after the log was cut: loadDataBase takes the newest snapshot, also one later than the
    cut (ZOOKEEPER-4837). `stood`: the first record from the cut on, as it was."""
    restore(s, p)
