"""Settle what an epoch really follows in a log whose snapshots of that time are purged.

A server that was sent a snapshot while it ran writes on in the same log file. Once that snapshot is purged, the log
looks as if what came in it was lost. The next snapshot tells: it is of the tree that the server really had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from traces.zookeeper.audit.digests import differences
from traces.zookeeper.audit.findings import NOTE, WARN, AuditFinding
from traces.zookeeper.audit.replay import WORD, Replayed, Restart, replayed, tree_at
from traces.zookeeper.disk.decode import zxid_text
from traces.zookeeper.disk.server import Server, TransactionRun
from traces.zookeeper.disk.snapshots import Snapshot
from traces.zookeeper.disk.trees import Node


def settle_crossings(servers: Sequence[Server], replays: Mapping[str, Replayed]) -> dict[str, list[AuditFinding]]:
    """Settle the beginnings of epochs about which logs differ, or digests disagree, and a purged snapshot may say why.

    Where it may, the run is no longer taken to follow directly on what is before it.

    Args:
        servers: of one ensemble.
        replays: of their logs; empty if they were not replayed.

    Returns:
        Findings for each server of which a run was changed, by its name.
    """
    out: dict[str, list[AuditFinding]] = {}
    changed: list[tuple[Server, TransactionRun, AuditFinding]] = []
    before: dict[int, dict[str, int]] = {}
    for s in servers:
        for run in s.runs:
            if run.link in ("epoch", "bridged"):
                before.setdefault(run.lo, {})[s.name] = run.before if run.link == "epoch" else 0
    for s in servers:
        for run in s.runs:
            if not s.may_be_bridged(run):
                continue
            others = {p for name, p in before[run.lo].items() if name != s.name and p}
            replay = replays.get(s.name)
            unlike = not others and unlike_log(s, run, replay)
            if not others - {run.before} and not begins_wrong(replay, run) and not unlike:
                continue
            apart = [o for o in servers if o is not s and before[run.lo].get(o.name) != run.before]
            finding = told_by_trees(s, run, apart, replays, max(others, default=0) <= run.before)
            if finding is not None:
                changed.append((s, run, finding))
    for s, run, finding in changed:  # all at once, so that no server is judged by what was changed of another
        run.link = "unknown"
        out.setdefault(s.name, []).append(finding)
    return out


def begins_wrong(replay: Replayed | None, run: TransactionRun) -> bool:
    """Return whether the first digest behind the beginning of an epoch is the first that is wrong."""
    return replay is not None and any(e.before < run.lo <= e.zxid for e in replay.episodes)


def unlike_log(server: Server, run: TransactionRun, replay: Replayed | None) -> bool:
    """Return whether the next snapshot is not of the log's tree, in a log without digests."""
    snapshot = server.next_snapshot(run)
    if snapshot is None or replay is None or replay.checked or snapshot.newest > snapshot.zxid:
        return False
    logs = replay.captured.get(snapshot.zxid)
    return logs is not None and logs[1] != snapshot.content & WORD


def told_by_trees(
    server: Server, run: TransactionRun, apart: Sequence[Server], replays: Mapping[str, Replayed], longest: bool
) -> AuditFinding | None:
    """Return a finding if a run need not follow directly on what is before it, and None if it does.

    Args:
        server: the server.
        run: the first transactions of an epoch in its log.
        apart: the servers whose histories say otherwise.
        replays: of the logs.
        longest: whether no other log has more before the epoch.
    """
    lo, hi = run.before + 1, run.lo - 1
    said = f"the log goes from {zxid_text(run.before)} to {zxid_text(run.lo)}, and its snapshots of that time are gone"

    def finding(severity: str, what: str) -> AuditFinding:
        where = (server.name, server.file_of(run).name, run.place)
        return AuditFinding("GAP_UNKNOWN", severity, f"{said}: {what}", *where, lo, hi)

    replay = replays.get(server.name)
    snapshot = server.next_snapshot(run)
    if snapshot is None or replay is None:
        why = "no later snapshot can be read" if snapshot is None else "the logs were not replayed"
        return finding(WARN, f"whether one of them held more than the log, or it is lost, is unknown ({why})")
    at = max(snapshot.zxid, snapshot.newest)  # it can hold some of what came while it was written
    mine, logs = tree_at(server, at, behind(server, snapshot)), tree_at(server, at, None)
    rest = [tree_at(o, at, behind(o, base_at(o, at))) for o in apart if o.logged >= at]
    unlike = any(apart_for_sure(mine, other, digests=False) for other in rest)
    name = f"snapshot.{snapshot.zxid:x}"
    sound = right_by_digests(server, snapshot)
    if replay.base == snapshot.name:  # what is before it was not replayed, for want of a tree to begin with
        if unlike or sound is False:
            return None
        if sound or rest:
            what = f"{name} is as digests or other servers say, so that one of them may have come between"
            return finding(NOTE, what)
        return finding(WARN, f"nothing shows whether {name} has what is not in the log")
    if apart_for_sure(mine, logs, digests=bool(replay.checked)):
        if sound or (sound is None and rest and not unlike):
            return finding(NOTE, f"{name} holds more than the log tells: one of them came between")
        return finding(WARN, f"{name} is not of the log's tree, and nothing shows that it is right")
    if replay.right_at(at) is False or longest or unlike:
        return None
    if rest or replay.right_at(at):
        return finding(NOTE, f"with what may have come between, the tree of {name} is the same as without it")
    return finding(WARN, "whether one of them held more than the log, or it is lost, is unknown")


def right_by_digests(server: Server, snapshot: Snapshot) -> bool | None:
    """Return whether the digests behind a snapshot say that its tree is right; None if none says anything.

    Those of what it may hold in part, since it came while the snapshot was written, need not agree.
    """
    states = [(z, right) for z, right in replayed(server, (), behind(server, snapshot)).states if z > snapshot.zxid]
    return next((bool(right) for z, right in states if right or z > snapshot.newest), None)


def apart_for_sure(one: Mapping[str, Node], two: Mapping[str, Node], digests: bool) -> bool:
    """Return whether trees differ in nodes; without digests, statistics alone do not count.

    Snapshots of older releases can differ from the log in statistics.
    """
    return any(digests or not d.startswith("statistics") for d in differences(one, two).values())


def behind(server: Server, snapshot: Snapshot | None) -> Restart | None:
    """Return a snapshot, and all logs, of which what is behind it is replayed."""
    return Restart(snapshot, [(f, f.end) for f in server.logs]) if snapshot is not None else None


def base_at(server: Server, zxid: int) -> Snapshot | None:
    """Return the newest usable snapshot of a server up to a transaction, or None."""
    return next((s for s in reversed(server.snapshots) if s.usable and s.zxid <= zxid), None)
