"""Check each server's own files: damaged records, gaps, order, epochs, snapshots."""

from __future__ import annotations

from traces.zookeeper.audit.findings import DANGER, NOTE, VIOLATION, WARN, AuditFinding
from traces.zookeeper.disk.decode import zxid_text
from traces.zookeeper.disk.logs import LogFile
from traces.zookeeper.disk.rules import first_line, packing, parse_long
from traces.zookeeper.disk.server import LOW, Server, TransactionRun
from traces.zookeeper.disk.snapshots import Snapshot

UNREAD = "and does not read it"
NOTES = ("LEFT_OVER", "UNKNOWN_TYPE", "BAD_DBID")  # of damages those that a later release might write
ALONE = "a compressed log without another copy"
LAST_EPOCH = (1 << 31) - 1  # of a zxid, which is a long and not below zero


def file_findings(server: Server) -> list[AuditFinding]:
    """Return findings about unreadable files and damaged records."""
    out = []
    d = server.directory
    for path, why in d.trouble:
        out.append(AuditFinding("UNREADABLE", WARN, f"it cannot be read: {why}", d.name, path.name))
    for n, f in enumerate(server.logs):
        if f.trouble:
            out.append(AuditFinding("UNREADABLE", WARN, f"it cannot be read: {f.trouble}", d.name, f.name))
        for damage in f.damages:
            severity = WARN if damage.code in NOTES else VIOLATION
            zxid = damage.zxid if damage.zxid > 0 else -1
            finding = AuditFinding(damage.code, severity, damage.detail, d.name, f.name, damage.place, zxid)
            if damage.hides:
                finding.evidence["hidden from ZooKeeper"] = "the rest of the file"
            out.append(finding)
        if f.torn is not None:
            place, zxid = f.torn
            what = "the file ends within its last record"
            where = "" if n == len(server.logs) - 1 else ", and the next file continues"
            out.append(AuditFinding("TORN_TAIL", NOTE, what + where, d.name, f.name, place, zxid if zxid > 0 else -1))
        if f.ending == "empty":
            last = n == len(server.logs) - 1
            what = "no record was written to it" + ("" if last else ", and later files follow")
            out.append(AuditFinding("EMPTY_LOG", NOTE, what, d.name, f.name, 0))
        if f.lost_events:
            what = f"{f.lost_events:,} more anomalies of this file are not reported"
            out.append(AuditFinding("TOO_MANY", WARN, what, d.name, f.name))
    out += packed_logs(server)
    names = [*(f.name for f in server.logs), *(x.name for x in server.snapshots)]
    byname = [name for name in names if name.count(".") > 1 and not packing(name)]
    for names, what in (
        ([p.name for p in d.stray] + server.unread, "not read"),
        (byname, "read by every start from 3.6 on, whatever follows the zxid in its name"),
    ):
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        if names:
            out.append(AuditFinding("STRAY_FILE", NOTE, f"{what}: {', '.join(names[:5])}{more}", d.name))
    if not server.logs and not any(s.zxid for s in server.snapshots):
        out.append(AuditFinding("EMPTY_SERVER", NOTE, "there is no log and no snapshot but the first", d.name))
    elif not server.records and not server.top and not any(f.damages for f in server.logs):
        out.append(AuditFinding("EMPTY_SERVER", NOTE, "there is no transaction in its logs", d.name))
    return out


def packed_logs(server: Server) -> list[AuditFinding]:
    """Return findings about compressed copies of logs, which ZooKeeper takes for logs by their names."""
    out = []
    plain = {f.named: f.name for f in server.logs if f.ending not in ("packed", "folder")}
    for f in server.logs:
        if f.ending == "packed":
            beside = f"a compressed copy beside {plain[f.named]}" if f.named in plain else ALONE
            unread = f not in server.needed
            what = "from before what a start reads" if unread else "which a start that reads it refuses as no log"
            out.append(AuditFinding("PACKED_LOG", NOTE if unread else WARN, f"{beside}, {what}", server.name, f.name))
    return out


# --- order -------------------------------------------------------------------------------------------


def order_findings(server: Server) -> list[AuditFinding]:
    """Return findings about a server's log: gaps, order, repetitions."""
    out: list[AuditFinding] = []
    known = [s.zxid for s in server.snapshots]
    for n, run in enumerate(server.runs):
        f = server.file_of(run)
        where = (server.name, f.name, run.place)
        if run.link == "gap" and server.begins_late(run):
            lo, hi = server.missing(run)
            out.append(deleted(server, run, f"{count_text(lo, hi)} not there", lo, hi))
        elif run.link == "gap":
            out.append(gap(server, run, known))
        elif run.link == "damaged" and server.packed_before(run):
            what = f"what is between {zxid_text(run.before)} and {zxid_text(run.lo)} is in a compressed log alone"
            out.append(AuditFinding("PACKED_LOG", WARN, what, *where, run.before + 1, run.lo - 1))
        elif run.link == "epoch" and not run.before and run.lo >> 32 > 1 and server.begins_late(run):
            what = f"the log begins with {zxid_text(run.lo)}: earlier transactions, if any, are missing"
            out.append(deleted(server, run, what, run.lo, run.lo))
        elif run.link == "unknown" and n == 0:
            out += begins_late(server, run, f, known)
        elif run.link == "unknown" and run.lo & LOW != 1:  # what an epoch follows is told where it is settled
            lo, hi = server.missing(run)
            what = f"{zxid_text(lo)}..{zxid_text(hi)} are not in the log, and no earlier snapshot exists"
            out.append(AuditFinding("GAP_UNKNOWN", NOTE, what, *where, lo, hi))
        elif run.link == "bridged":
            out += bridged(server, run, f)
        elif run.link == "back":
            what = f"{zxid_text(run.lo)} stands behind {zxid_text(run.before)}"
            out.append(AuditFinding("ZXID_DECREASE", VIOLATION, what, *where, run.lo, run.hi))
        elif run.link == "again":
            hi = min(run.hi, run.before)
            what = f"{zxid_text(run.lo)}{'' if hi == run.lo else '..' + zxid_text(hi)} was logged before, the same"
            out.append(AuditFinding("DUP_ZXID", NOTE, what, *where, run.lo, hi))
        elif run.link == "epoch" and run.before and run.lo >> 32 > (run.before >> 32) + 1:
            what = f"epoch {run.lo >> 32} follows on epoch {run.before >> 32}"
            out.append(AuditFinding("EPOCH_SKIPPED", NOTE, what, *where, run.lo))
        if run.lo & LOW == 0 or run.lo <= 0:
            what = f"no transaction has zxid {zxid_text(run.lo)}"
            out.append(AuditFinding("BAD_ZXID", VIOLATION, what, *where, max(run.lo, 0)))
    out += names_wrong(server)
    return out


def deleted(server: Server, run: TransactionRun, what: str, lo: int, hi: int) -> AuditFinding:
    """Return findings about whole log files that are missing and that no start reads."""
    what += f", and the start reads from snapshot.{server.restart_from:x} on: no part of the deleted files is needed"
    return AuditFinding("LOGS_DELETED", NOTE, what, server.name, server.file_of(run).name, run.place, lo, hi)


def unread(server: Server, run: TransactionRun) -> str:
    """Return a phrase if a start does not read what is missing before a run, else an empty string."""
    if not server.not_read(run):
        return ""
    return f"; a start begins behind it, with snapshot.{server.restart_from:x}, {UNREAD}"


def gap(server: Server, run: TransactionRun, known: list[int]) -> AuditFinding:
    """Return a finding about a gap, which a snapshot of its end would explain."""
    f = server.file_of(run)
    lo, hi = server.missing(run)
    first = run is server.runs[0]
    inside = run.place != f.first_place
    behind = f"the log goes from {zxid_text(run.before)} to {zxid_text(run.lo)}"
    if first:
        behind = f"the log begins with {zxid_text(run.lo)}, and snapshot.{run.before:x} is all that is from before"
    gone = count_text(lo, hi)
    if run.before >> 32 != run.lo >> 32 and run.before:
        gone = f"what followed on {zxid_text(run.before)} in epoch {run.before >> 32:x}, and {gone}"
    what = f"{behind}{' inside a file' if inside else ''}: {gone} missing, and no snapshot fills the gap"
    what += unread(server, run)
    finding = AuditFinding("GAP", VIOLATION, what, server.name, f.name, run.place, lo, hi)
    finding.evidence["snapshots"] = [f"{z:x}" for z in known]
    return finding


def count_text(lo: int, hi: int) -> str:
    n = hi - lo + 1
    return f"{zxid_text(lo)} is" if n == 1 else f"{n:,} transactions from {zxid_text(lo)} to {zxid_text(hi)} are"


def begins_late(server: Server, run: TransactionRun, f: LogFile, known: list[int]) -> list[AuditFinding]:
    """Return notes about a log that does not begin with the first transaction."""
    where = (server.name, f.name, run.place, run.lo)
    if not known:
        if run.lo & LOW == 1:
            return []
        what = f"the log begins with {zxid_text(run.lo)}, and there is no snapshot: what was before cannot be concluded"
        return [AuditFinding("GAP_UNKNOWN", NOTE, what, *where)]
    what = f"the log begins with {zxid_text(run.lo)}, which its oldest snapshot snapshot.{known[0]:x} explains"
    return [AuditFinding("PURGED", NOTE, what, *where)]


def bridged(server: Server, run: TransactionRun, f: LogFile) -> list[AuditFinding]:
    """Return a finding about a gap, or a note if a readable snapshot fills it."""
    where = (server.name, f.name, run.place)
    usable = [s.zxid for s in server.snapshots if s.usable]
    fills = [s for s in usable if run.before < s < run.lo] if run is not server.runs[0] else usable
    missing = run.lo & LOW != 1
    lo, hi = server.missing(run) if missing else (run.lo, run.lo)
    if run.snapshot in usable or (fills and not missing):
        what = f"from {zxid_text(run.before)} to {zxid_text(run.lo)}, over snapshot.{run.snapshot:x}"
        return [AuditFinding("SNAP_BRIDGED", NOTE, what, *where, run.lo)]
    later = [s for s in usable if s >= run.lo - 1]
    what = f"snapshot.{run.snapshot:x}, between {zxid_text(run.before)} and {zxid_text(run.lo)}, cannot be read"
    if later:
        what += f"; a restart begins with snapshot.{later[-1]:x}"
        return [AuditFinding("GAP_UNKNOWN", NOTE, what, *where, lo, hi)]
    return [AuditFinding("SNAP_LOST", VIOLATION, what, *where, lo, hi)]


def names_wrong(server: Server) -> list[AuditFinding]:
    """Return findings about files whose first record is not the one in their name."""
    out = []
    for f in server.logs:
        if not f.first_place or f.first == f.named or any(d.place < f.first_place for d in f.damages):
            continue
        explained = any(r.link in ("gap", "damaged") and server.file_of(r) is f for r in server.runs)
        if not explained:
            what = f"its first record is {zxid_text(f.first)}, its name has {zxid_text(f.named)}"
            lost = f.named < f.first and not server.has(f.named)
            bridged = any(f.named <= s.zxid < f.first for s in server.snapshots)
            severity = VIOLATION if lost and not bridged else WARN
            code = "GAP" if severity == VIOLATION else "NAME_MISMATCH"
            out.append(AuditFinding(code, severity, what, server.name, f.name, f.first_place, f.named, f.first - 1))
    return out


# --- snapshots and epochs ------------------------------------------------------------------------------


def snapshot_findings(server: Server) -> list[AuditFinding]:
    """Return findings about snapshots that are unreadable or wrong."""
    out = []
    for s in server.snapshots:
        if s.state == "unreadable":
            out.append(AuditFinding("UNREADABLE", WARN, f"it cannot be read: {s.why}", server.name, s.name))
        elif s.state == "refused":
            severity = DANGER if s.zxid > server.top else WARN  # nothing else that is read has what it holds
            out.append(AuditFinding("OTHER_OPTIONS", severity, s.why, server.name, s.name, -1, s.zxid))
        elif not ends_well(s) and s.state in ("torn", "broken"):
            out.append(AuditFinding("TORN_SNAPSHOT", NOTE, s.why, server.name, s.name, s.place, s.zxid))
        elif s.state in ("torn", "broken"):
            out.append(AuditFinding("SNAPSHOT_BROKEN", VIOLATION, s.why, server.name, s.name, s.place, s.zxid))
    if server.snapshots and not any(s.usable for s in server.snapshots):
        broken = any(s.state not in ("unreadable", "refused") for s in server.snapshots) and server.records
        severity = VIOLATION if broken else WARN
        out.append(AuditFinding("NO_SNAPSHOT", severity, "none of its snapshots can be read", server.name))
    elif not server.snapshots and server.records:
        out.append(AuditFinding("NO_SNAPSHOTS", NOTE, "there are logs and no snapshot", server.name))
    return out


def ends_well(s: Snapshot) -> bool:
    """Return whether a snapshot ends as a finished one does; a compressed one that is cut off does not."""
    return s.ended and not (s.state == "torn" and packing(s.name))


def epoch_findings(server: Server) -> list[AuditFinding]:
    """Return findings about the epoch files, compared with each other and with the log."""
    out: list[AuditFinding] = []
    values: dict[str, int] = {}
    found = server.directory.epochs
    for name in ("currentEpoch", "acceptedEpoch"):
        data = found.get(name)
        if data is None:
            continue
        value = parse_long(first_line(data))
        if value is not None and value < LAST_EPOCH:
            values[name] = value
        elif value is not None:
            what = f"it holds {value}: zxids have no room for the next epoch, and wrap around"
            out.append(AuditFinding("EPOCH_FILE", VIOLATION, what, server.name, name))
        else:
            shown = data[:40].decode("ascii", "backslashreplace")
            out.append(
                AuditFinding("EPOCH_FILE", VIOLATION, f"it has {shown!r}, which is not an epoch", server.name, name)
            )
    held = [n for n in ("currentEpoch", "acceptedEpoch") if n in found]
    if len(held) == 1 and server.top >> 32:
        other = "acceptedEpoch" if held[0] == "currentEpoch" else "currentEpoch"
        out.append(AuditFinding("EPOCH_MISSING", NOTE, f"there is {held[0]}, but no {other}", server.name, other))
    pending = [n for n in found if n.endswith(".tmp") or n == "updatingEpoch"]
    for name in pending:
        out.append(AuditFinding("EPOCH_PENDING", NOTE, "it was left behind", server.name, name))
    top, current, accepted = server.top, values.get("currentEpoch"), values.get("acceptedEpoch")
    if current is not None and current < top >> 32:
        what = f"its history holds epoch {top >> 32} (up to {zxid_text(top)}), currentEpoch is {current}"
        severity = WARN if pending_heals(found, top >> 32) else VIOLATION
        out.append(AuditFinding("EPOCH_BEHIND_LOG", severity, what, server.name, "currentEpoch"))
    if current is not None and accepted is not None and accepted < current:
        what = f"acceptedEpoch says {accepted}, currentEpoch {current}"
        out.append(AuditFinding("ACCEPTED_BEHIND", VIOLATION, what, server.name, "acceptedEpoch"))
    return out


def pending_heals(found: dict[str, bytes | None], epoch: int) -> bool:
    """Return whether a server recovers by itself from an interrupted update."""
    return "updatingEpoch" in found or parse_long(first_line(found.get("currentEpoch.tmp"))) == epoch
