"""Find nodes that vanish when a server leads: its tree lacks them, others have them, and no log deletes them.

Servers vote with zxids, not with trees. A snapshot under a later name makes its server the leader, whatever it holds,
and all others take over its tree.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from traces.zookeeper.audit.agree import Held, copies_of, read_txn
from traces.zookeeper.audit.findings import DANGER, VIOLATION, AuditFinding
from traces.zookeeper.audit.replay import Ends, Replayed, tree_at
from traces.zookeeper.disk import numbers as k
from traces.zookeeper.disk.decode import zxid_text
from traces.zookeeper.disk.logs import Reader
from traces.zookeeper.disk.server import Server
from traces.zookeeper.disk.snapshots import Snapshot
from traces.zookeeper.disk.trees import Node

MZXID = 1  # place among a node's statistics
DELETES = (k.DELETE, k.DELETE_CONTAINER, k.CLOSE_SESSION)


def vanishing(
    servers: Sequence[Server],
    ends: Ends,
    logs: Mapping[str, Replayed],
    is_dead: Callable[[int], bool],
    blamed: Collection[str],
    quorum: Callable[[Iterable[str], int], bool],
) -> dict[str, dict[str, list[str]]]:
    """Return for each server the nodes that its tree lacks or has in an older version, with the servers that have them.

    Args:
        ends: for each server that starts the last transaction, and the replay of its start.
        logs: the replays of whole logs.
        is_dead: whether histories went on without a transaction.
        quorum: whether servers are a quorum at a transaction.
        blamed: servers with violations of their own, whose trees prove nothing about others.
    """
    out: dict[str, dict[str, list[str]]] = {}
    trees: dict[str, dict[str, Node]] = {}

    by_name = {s.name: s for s in servers}

    def tree(name: str) -> dict[str, Node]:
        if name not in trees:
            trees[name] = tree_at(by_name[name], ends[name][0], ends[name][2])
        return trees[name]

    def lacking(one: str, other: Mapping[str, Node], at: int) -> set[str]:
        """Return the nodes that a server's tree lacks of another one at a transaction."""
        here = tree(one)
        return {
            path for path, n in other.items()
            if n.lasts and n.stats[MZXID] <= at and not is_dead(n.stats[MZXID])
            and (path not in here or here[path].stats[MZXID] < n.stats[MZXID])
        }  # fmt: skip

    for one, (top, mine, restart) in ends.items():
        base = restart.base if restart is not None else None
        for two, (last, theirs, _) in ends.items():
            if one == two or two in blamed or not last:
                continue
            if last > top:  # it cannot lead, and may keep what it has: its tree is wrong if it is not its log's
                for path in sorted(lacking(one, tree_at(by_name[two], top, None), top)) if one in blamed else ():
                    out.setdefault(one, {}).setdefault(path, []).append(two)
                continue
            if agree(mine, theirs, last, list(logs.values()), base):
                continue
            if last >> 32 and explained(base, mine, logs.get(one)):
                continue
            # a quorum has one tree, with changes from after the other's end: what that still has was deleted since
            if base is not None and base.newest > last and quorum(alike(one, ends), top):
                continue
            gone = lacking(one, tree(two), last)
            for path in sorted(gone - deleted(servers, last, top) if gone else ()):
                out.setdefault(one, {}).setdefault(path, []).append(two)
    return out


def standalone_findings(servers: Sequence[Server], ends: Ends) -> list[AuditFinding]:
    """Return findings about what a standalone server acknowledged, which is in no tree that an ensemble serves.

    Only a standalone server writes epoch 0, and it acknowledges alone. An ensemble goes on from it only if its first
    leader was that server.
    """
    out, by_name = [], {s.name: s for s in servers}
    served = {name: end for name, end in ends.items() if end[0] >> 32}
    for s in servers:
        last = max((r.hi for r in s.runs if not r.hi >> 32), default=0)
        if not last or not s.last >> 32 or not served:
            continue
        before = {p: n for p, n in tree_at(s, last, None).items() if n.lasts and n.stats[MZXID]}
        trees = [tree_at(by_name[name], top, own) for name, (top, _, own) in served.items()]
        newest = max(top for top, _, _ in served.values())
        lost = {p for p, n in before.items() if all(p not in t or t[p].stats[MZXID] < n.stats[MZXID] for t in trees)}
        lost -= deleted(servers, last, newest) if lost else set()
        if lost:
            what = f"up to {zxid_text(last)} it was a standalone server, which acknowledges alone, and {len(lost)} "
            what += "nodes of that time are in no server's tree: the ensemble went on without them; its log has them"
            finding = AuditFinding("STANDALONE_LOST", VIOLATION, what, s.name, "", -1, s.runs[0].lo, last)
            finding.list_nodes(sorted(lost))
            out.append(finding)
    return out


def alike(name: str, ends: Ends) -> list[str]:
    """Return the servers that have the tree of one, the server itself included, at the end that comes first."""
    top, mine, _ = ends[name]
    out = [name]
    for other, (last, theirs, _) in ends.items():
        one, two = mine.captured.get(min(top, last)), theirs.captured.get(min(top, last))
        if other != name and one is not None and two is not None and one[1] == two[1]:
            out.append(other)
    return out


def explained(base: Snapshot | None, mine: Replayed, log: Replayed | None) -> bool:
    """Return whether a server's own log shows how the tree came about that it starts with."""
    if base is None or not base.zxid:
        return True
    known, begins = log.captured.get(base.zxid) if log is not None else None, mine.captured.get(base.zxid)
    if log is None or known is None or begins is None:
        return False
    return known[1] == begins[1] and base.name not in log.bases


def agree(one: Replayed, two: Replayed, at: int, logs: Sequence[Replayed], base: Snapshot | None) -> bool:
    """Return whether two servers have one tree at a transaction, or a log leads from the one's tree to the other's."""
    mine, theirs = one.captured.get(at), two.captured.get(at)
    if mine is not None and theirs is not None:
        return mine[1] == theirs[1]
    first = one.captured.get(base.zxid) if base is not None else None
    for log in logs:
        begins, comes = log.captured.get(at), log.captured.get(base.zxid) if base is not None else None
        if begins and comes and first and theirs and begins[1] == theirs[1] and comes[1] == first[1]:
            return True
    return False


def deleted(servers: Sequence[Server], after: int, until: int) -> set[str]:
    """Return the paths that any log deletes between two transactions."""
    out: set[str] = set()
    reader = Reader(sums=False)
    for s in servers:
        blocks = {b for f in s.logs for b in f.blocks if after >> k.BLOCK <= b <= until >> k.BLOCK}
        for zxid, held in copies_of(s, blocks, reader).items() if blocks else ():
            if after < zxid <= until:
                out |= paths_deleted(s, held[0])
    return out


def paths_deleted(server: Server, held: Held) -> set[str]:
    """Return the paths that a transaction deletes."""
    txn = read_txn(server, held)
    if txn is None:
        return set()
    parts = [(txn.kind, txn.fields), *(txn.fields.get("parts", ()) if not txn.failed else ())]
    found = {f["path"] for kind, f in parts if kind in DELETES and "path" in f}
    return found.union(*(f["paths"] for _, f in parts if "paths" in f))


def vanishing_findings(
    lacking: Mapping[str, Mapping[str, list[str]]], ends: Ends, found: list[AuditFinding]
) -> list[AuditFinding]:
    """Return a finding for each server whose lead makes nodes vanish, unless a violation is found about it."""
    told = {n for f in found if f.severity == VIOLATION for n in (f.server, *f.servers)}
    out = []
    for name, nodes in lacking.items():
        if name in told:
            continue
        top, _, restart = ends[name]
        holders = sorted({n for names in nodes.values() for n in names})
        what = f"{len(nodes)} nodes that {', '.join(holders)} have are not in its tree, or older, though its history "
        what += f"goes on to {zxid_text(top)}, and no log says that they were deleted"
        file = restart.base.name if restart is not None else ""
        finding = AuditFinding("NODES_VANISH", DANGER, what, name, file, -1, top)
        finding.list_nodes({p: f"on {', '.join(names)}" for p, names in nodes.items()})
        out.append(finding)
    return out
