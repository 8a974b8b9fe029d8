"""Report what replaying shows: trees unlike their digests, snapshots unlike the log, and restarts that differ."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from traces.zookeeper.audit.agree import Each, locate, read_txn
from traces.zookeeper.audit.findings import NOTE, VIOLATION, WARN, AuditFinding
from traces.zookeeper.audit.replay import WORD, Ends, Episode, Replayed, Restart, replayed, tree_at
from traces.zookeeper.disk import numbers as k
from traces.zookeeper.disk.decode import BrokenPayload, decoded, zxid_text
from traces.zookeeper.disk.logs import Reader, payload_at
from traces.zookeeper.disk.server import LOW, Server
from traces.zookeeper.disk.snapshots import Snapshot
from traces.zookeeper.disk.trees import STATS, Node

CAUSES = ("GAP", "MISSING", "ZXID_DECREASE", "DUP_DIFFERS", "DIVERGENT_TXN", "ABANDONED_APPLIED", "EPOCH_BOUNDARY",
          "CRC", "BAD_EOR", "BAD_LEN", "BAD_BODY", "DATA_AFTER_END", "BAD_MAGIC", "SNAP_LOST", "UNKNOWN_TYPE",
          "GAP_UNKNOWN", "LOGS_DELETED", "PACKED_LOG")  # fmt: skip

LEAVES_NO_ZXID = (k.DELETE, k.SET_ACL, k.CLOSE_SESSION, k.MULTI, k.DELETE_CONTAINER)
AVERSION = STATS.index("aversion")  # a change of permissions is acknowledged like a change of data
STATISTICS = "statistics"


def digest_findings(
    servers: list[Server], replays: Mapping[str, Replayed], found: list[AuditFinding], show_data: bool = False
) -> list[AuditFinding]:
    """Return findings about records whose digest is not the tree's.

    A mismatch that an earlier finding explains is noted in that finding instead.
    """
    out: list[AuditFinding] = []
    for server in servers:
        replay = replays.get(server.name)
        if replay is None:
            continue
        if server.records and not replay.checked and replay.applied:
            what = f"{replay.applied:,} transactions replayed, and none has a digest"
            out.append(AuditFinding("NO_DIGESTS", NOTE, what, server.name))
        for episode in replay.episodes:
            cause = caused(server, episode, found)
            if cause is not None:
                cause.evidence.setdefault("digests", told(episode))
            elif shared(server, episode, servers, replays):
                what = f"it has {episode.wanted:#x}, but every server's tree has {episode.found:#x}"
                if not any(f.code == "DIGEST_SHARED" and f.zxid == episode.zxid for f in out):
                    out.append(at_episode("DIGEST_SHARED", WARN, what, server, episode, show_data))
                    out[-1].server, out[-1].servers = "", [s.name for s in servers]
            else:
                out.append(at_episode("DIGEST_MISMATCH", VIOLATION, told(episode), server, episode, show_data))
    return out


def told(episode: Episode) -> str:
    end = f", until {zxid_text(episode.healed)}" if episode.healed else ", to the end"
    return (
        f"from {zxid_text(episode.zxid)} on the log has {episode.wanted:#x}, but this server's tree has "
        f"{episode.found:#x}{end}"
    )


def at_episode(code: str, severity: str, what: str, server: Server, e: Episode, show_data: bool) -> AuditFinding:
    finding = AuditFinding(code, severity, what, server.name, e.file.name, e.place, e.zxid)
    with contextlib.suppress(BrokenPayload):
        finding.evidence["transaction"] = decoded(payload_at(e.file, e.place)).as_json(show_data)
    finding.evidence |= {"digest of the record": f"{e.wanted:#x}", "digest of the tree": f"{e.found:#x}"}
    return finding


def caused(server: Server, episode: Episode, found: list[AuditFinding]) -> AuditFinding | None:
    """Return the finding about this server that explains why its tree differs from a record on, or None.

    It is the last one between the record before, whose digest was right, and this one.
    """
    order = {f.name: n for n, f in enumerate(server.logs)}
    here = (order.get(episode.file.name, -1), episode.place)
    for f in reversed(found):
        if f.code not in CAUSES or f.server != server.name or f.file not in order:
            continue
        start = (order[f.file], f.offset)
        last = max(f.last, f.zxid)
        if start <= here and (f.zxid <= episode.zxid <= last + 1 or behind(server, f, episode)):
            return f
    return None


def behind(server: Server, f: AuditFinding, episode: Episode) -> bool:
    """Return whether an episode begins with the first digest behind a finding.

    No record in between shows that the tree was right.
    """
    return f.zxid <= episode.zxid and episode.before <= max(f.last, f.zxid)


def shared(server: Server, episode: Episode, servers: list[Server], replays: Mapping[str, Replayed]) -> bool:
    """Return whether other servers have the record, and all have the same tree."""
    others = [s for s in servers if s is not server and s.has(episode.zxid) and s.name in replays]

    def said(e: Episode) -> tuple[int, int, int]:
        return e.zxid, e.wanted, e.found

    same = [s for s in others if said(episode) in map(said, replays[s.name].episodes)]
    return bool(others) and len(same) == len(others)


# --- snapshots and restarts ----------------------------------------------------------------------------


def snapshot_digests(server: Server, replay: Replayed) -> list[AuditFinding]:
    """Return findings about snapshots whose digest is not that of the tree at their transaction in the log."""
    out = []
    for s in server.snapshots:
        if not s.usable or not s.has_digest:
            continue
        said, digest, what = replay.captured.get(s.digest_zxid), s.digest & WORD, ""
        if s.exact and s.newest <= s.zxid and s.total & WORD != digest and not may_be_ahead(server, s):
            what = f"its digest is {digest:#x}, and that of its nodes {s.total & WORD:#x}"
        elif 0 < s.digest_zxid < s.zxid and s.zxid & LOW:
            what = f"it is named after {zxid_text(s.zxid)}, and its digest is of the tree at {zxid_text(s.digest_zxid)}"
        elif said is not None and said[2] and said[0] != digest:
            what = f"it has {digest:#x} for the tree at {zxid_text(s.digest_zxid)}, which the log gives {said[0]:#x}"
        if what:
            out.append(AuditFinding("SNAPSHOT_DIGEST", VIOLATION, what, server.name, s.name, -1, s.digest_zxid))
    return out


def may_be_ahead(server: Server, snapshot: Snapshot) -> bool:
    """Return whether a snapshot may have a part of the transaction behind its digest, and show no later zxid.

    A server applies a transaction before it notes the digest of the tree (DataTree.processTxn): a snapshot that ends in
    between has both. Permissions have no zxid, and what was deleted leaves one in its parent, which is written first.
    """
    behind = min((max(r.lo, snapshot.zxid + 1) for r in server.runs if r.hi > snapshot.zxid), default=0)
    held = locate(server, behind, Reader(sums=False)) if behind else None
    txn = read_txn(server, held) if held is not None else None
    return txn is not None and txn.kind in LEAVES_NO_ZXID


def restart_findings(
    servers: list[Server], replays: Mapping[str, Replayed], found: list[AuditFinding], each: Each,
    restarts: Mapping[str, Restart | None],
) -> tuple[list[AuditFinding], Ends]:  # fmt: skip
    """Compare the trees after a restart with each server's log and with one another.

    Args:
        restarts: what a start of each server replays.

    Returns:
        Findings, and for each server that has anything its last transaction, the replay of its restart, and what that
        replays.
    """
    out: list[AuditFinding] = []
    ends: dict[str, tuple[int, Replayed, Restart | None]] = {}
    graves = [f for f in found if f.severity == VIOLATION and f.code in (*CAUSES, "DIGEST_MISMATCH", "COMMITTED_LOST")]
    blamed = {name for f in graves for name in (f.server, *f.servers)}
    blamed |= {f.server for f in found if f.code == "PACKED_LOG" and f.zxid >= 0}
    parts = {f.server for f in found if f.code == "LOGS_DELETED"}  # for these the log alone says less than a restart
    wanted = sorted(compared_at(servers))
    having = [s for s in servers if s.top]
    shared = {f.zxid for f in found if f.code == "DIGEST_SHARED" and all(s.has(f.zxid) for s in having)}
    asked = [(s, wanted, restart) for s in servers if (restart := restarts[s.name]) is not None]
    for (server, _, restart), again in zip(asked, each(replayed, asked), strict=True):
        ends[server.name] = (again.last, again, restart)
        if again.unlisted:
            said = f"after a start {again.unlisted:,} of its nodes have permissions that nothing lists"
            out.append(AuditFinding("SNAPSHOT_BROKEN", VIOLATION, said, server.name))
        again = without_shared(again, replays.get(server.name), shared)
        out += restart_of(server, restart, again, replays.get(server.name), server.name in blamed, server.name in parts)
    told = blamed | {f.server for f in out}
    out += between(servers, ends, told)
    ends |= {
        s.name: (replays[s.name].last, replays[s.name], None) for s in servers if restarts[s.name] is None and s.records
    }
    return out, ends


def compared_at(servers: Sequence[Server]) -> set[int]:
    """Return the transactions at which trees are compared: where logs and histories end, and starts begin."""
    return {z for s in servers for z in (s.logged, s.top, max(0, s.restart_from))}


def without_shared(again: Replayed, replay: Replayed | None, shared: set[int]) -> Replayed:
    """Return a restart without the differences that its log has too, and that all servers share."""
    known = {(e.zxid, e.found) for e in replay.episodes if e.zxid in shared} if replay is not None else set()
    return replace(again, episodes=[e for e in again.episodes if (e.zxid, e.found) not in known])


def restart_of(
    server: Server, restart: Restart, again: Replayed, replay: Replayed | None, blamed: bool, parts: bool = False
) -> list[AuditFinding]:
    """Compare a server's restart with its own log.

    Args:
        server: the server.
        restart: what a start replays.
        again: the replay of the restart.
        replay: the replay of the log.
        blamed: another finding already explains a difference.
        parts: parts of the log are missing.
    """
    if blamed or replay is None:
        return []
    base = restart.base
    if again.episodes:
        e = again.episodes[0]
        what = f"from {base.name} and the records behind it a restart builds a tree that is not as the "
        what += f"digests say: {told(e)}"
        return [AuditFinding("RESTART_DIFFERS", VIOLATION, what, server.name, base.name, -1, e.zxid)]
    if parts:
        return []
    mine, logs = again.captured.get(again.last), replay.captured.get(again.last)
    if mine is None or logs is None or mine[0] == logs[0] or again.newest > again.last or replay.newest > again.last:
        return []
    if mine[1] == logs[1]:
        return []  # only statistics differ, which can happen in snapshots of older releases
    nodes = differences(tree_at(server, again.last, restart), tree_at(server, again.last, None))
    if not nodes:
        return []
    what = f"from {base.name} a restart builds another tree at {zxid_text(again.last)} than the log: "
    what += f"{len(nodes)} nodes differ"
    finding = AuditFinding("RESTART_DIFFERS", VIOLATION, what, server.name, base.name, -1, again.last)
    finding.list_nodes(nodes)
    return [finding]


def between(servers: list[Server], ends: Ends, told: set[str]) -> list[AuditFinding]:
    """Return findings about servers whose trees differ at one transaction, though nothing else was found about them."""
    out: list[AuditFinding] = []
    names = [s.name for s in servers if s.name in ends and s.name not in told]
    by_name = {s.name: s for s in servers}
    for n, one in enumerate(names):
        for two in names[n + 1 :]:
            at = min(ends[one][0], ends[two][0])
            a, b = ends[one][1].captured.get(at), ends[two][1].captured.get(at)
            newest = max(
                ends[one][1].newest if ends[one][0] == at else 0, ends[two][1].newest if ends[two][0] == at else 0
            )
            if a is None or b is None or a[0] == b[0] or newest > at or (a[2] and b[2]):
                continue
            nodes = differences(tree_at(by_name[one], at, ends[one][2]), tree_at(by_name[two], at, ends[two][2]))
            if not nodes:
                continue
            real = any(not d.startswith(STATISTICS) for d in nodes.values())
            wrong = one if b[2] and not a[2] else two if a[2] and not b[2] else ""
            what = f"at {zxid_text(at)} the trees of {one} and {two} differ in {len(nodes)} nodes"
            code, severity = ("TREE_DIFFERS", VIOLATION) if real else ("TREE_STATS", NOTE)
            finding = AuditFinding(code, severity, what, wrong, "", -1, at, -1, [one, two])
            finding.list_nodes(nodes)
            out.append(finding)
    return out


# --- where a majority is accused ---------------------------------------------------------------------

# What a server's own files show by themselves.
OWN = ("GAP", "ZXID_DECREASE", "CRC", "BAD_EOR", "BAD_LEN", "BAD_BODY", "DATA_AFTER_END", "BAD_MAGIC", "SNAP_LOST")
ACCUSING = ("DIGEST_MISMATCH", "ABANDONED_APPLIED", "MISSING", "SNAPSHOT_DIGEST", "RESTART_DIFFERS", "TREE_DIFFERS")


def side_by_side(
    servers: list[Server], found: list[AuditFinding], quorum: Callable[[Iterable[str], int], bool], ends: Ends
) -> list[AuditFinding]:
    """Return the findings, but withdraw accusations of a majority.

    A digest is that of one leader's tree: it shows that the trees differ, not that a majority is wrong. A write that
    came back is such a case: the servers that have it are innocent. Nothing is withdrawn where all of it follows from
    holes and damage that the accused servers' own files show.
    """
    accusing = [f for f in found if f.code in ACCUSING and f.severity == VIOLATION]
    mine = [f for f in accusing if not follows_from_damage(f, found)]
    newest = max((s.top for s in servers), default=0)
    accused = [s.name for s in servers if any(f.server == s.name for f in mine)]
    if accused and not quorum(accused, newest):  # with those whose trees their own damage has changed
        accused = [s.name for s in servers if any(f.server == s.name for f in accusing)]
    if len(accused) == len(servers) or not quorum(accused, newest):
        return found
    first = min((f.zxid for f in mine if f.zxid >= 0), default=-1)
    others = [s.name for s in servers if s.name not in accused]
    since = f" from {zxid_text(first)} on" if first >= 0 else ""
    what = f"the trees of {', '.join(accused)}, a quorum, are{since} not those of the digests in the logs, and those "
    what += f"of {', '.join(others)} are: no file shows which of them is right"
    out = AuditFinding("TREES_APART", VIOLATION, what, zxid=first, servers=[s.name for s in servers])
    out.list_nodes(who_has_what(servers, ends))
    for n, f in enumerate(mine, 1):
        out.evidence[f"{n}. {f.code} {f.server}".rstrip()] = f.sentence
    return [*(f for f in found if not any(f is m for m in mine)), out]


def follows_from_damage(accusation: AuditFinding, found: list[AuditFinding]) -> bool:
    """Return whether a server's own hole or damage explains what it lacks, or the digests behind it."""
    damages = [f.zxid for f in found if f.code in OWN and f.severity == VIOLATION and f.server == accusation.server]
    if not damages or accusation.code == "ABANDONED_APPLIED":
        return False
    return accusation.code == "MISSING" or accusation.zxid < 0 or accusation.zxid >= min(damages)


def who_has_what(servers: list[Server], ends: Ends) -> dict[str, str]:
    """Return the nodes in which the trees of starting servers differ, each with every server's version.

    The trees are compared at the last transaction that all of them have.
    """
    based = [(s, r) for s in servers if s.records and s.name in ends and (r := ends[s.name][2]) is not None]
    at = min((s.top for s, _ in based), default=0)
    trees = {s.name: tree_at(s, at, restart) for s, restart in based if restart.base.zxid <= at}
    out: dict[str, str] = {}
    for path in sorted({p for tree in trees.values() for p in tree}):
        sides: dict[tuple[int, ...] | None, list[str]] = {}
        for name, tree in trees.items():
            n = tree.get(path)
            sides.setdefault(None if n is None else (n.data, max(n.length, 0), n.stats[8]), []).append(name)
        if len(sides) > 1:
            without = sides.pop(None, [])
            having = [f"on {', '.join(names)}" for names in sides.values()]
            out[path or "/"] = "; ".join([*having, *([f"not on {', '.join(without)}"] if without else [])])
            if len(having) > 1:
                out[path or "/"] += " (with other data)"
    return out


def differences(one: Mapping[str, Node], two: Mapping[str, Node]) -> dict[str, str]:
    """Return the nodes in which two trees differ, each with a description of the difference."""
    out: dict[str, str] = {}
    for path in sorted(one.keys() | two.keys()):
        a, b = one.get(path), two.get(path)
        if a is None or b is None:
            there = a if a is not None else b
            assert there is not None
            out[path or "/"] = f"only in the {'second' if a is None else 'first'}: {there.told()}"
        elif (a.data, max(a.length, 0), a.stats[8]) != (b.data, max(b.length, 0), b.stats[8]):
            out[path or "/"] = f"data or owner: {a.told()} | {b.told()}"
        elif a.stats[AVERSION] != b.stats[AVERSION]:
            out[path or "/"] = f"permissions: {a.told()} | {b.told()}"
        elif a.stats != b.stats:
            out[path or "/"] = f"{STATISTICS}: {a.told()} | {b.told()}"
    return out
