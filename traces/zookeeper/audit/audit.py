"""Audit an ensemble: check the directories of its servers against ZAB's promises."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from traces.zookeeper.audit.agree import Agreement, Each
from traces.zookeeper.audit.assumed import assumed
from traces.zookeeper.audit.codes import advice_held
from traces.zookeeper.audit.crossing import settle_crossings
from traces.zookeeper.audit.danger import (
    FORGOT,
    HIDING,
    applied_by_snapshot,
    danger_findings,
    doubted_servers,
    mixed,
    same_number,
    separate_ensembles,
    told_to_observer,
)
from traces.zookeeper.audit.digests import (
    compared_at,
    digest_findings,
    restart_findings,
    side_by_side,
    snapshot_digests,
)
from traces.zookeeper.audit.findings import DANGER, NOTE, VIOLATION, WARN, AuditFinding, worst
from traces.zookeeper.audit.folding import is_dead
from traces.zookeeper.audit.forecast import Forecast, forecast_of
from traces.zookeeper.audit.order import UNREAD, epoch_findings, file_findings, order_findings, snapshot_findings
from traces.zookeeper.audit.replay import Replayed, Restart, replayed
from traces.zookeeper.audit.starting import REFUSES, STARTS, Start, candidates, read_by_start, starts
from traces.zookeeper.audit.vanishing import standalone_findings, vanishing, vanishing_findings
from traces.zookeeper.audit.voters import START, Quorums, membership_findings
from traces.zookeeper.disk.decode import zxid_text
from traces.zookeeper.disk.files import stamp
from traces.zookeeper.disk.logs import LogFile, Reader, read_log, read_on
from traces.zookeeper.disk.rules import TRUST_EMPTY, Rules, first_line, parse_long, rules_for
from traces.zookeeper.disk.server import LOW, Directory, Server, listed
from traces.zookeeper.disk.snappy_kernel import unsnap
from traces.zookeeper.disk.snapshots import Snapshot, read_snapshot
from traces.zookeeper.disk.trees import DataTree
from zabspec.language.native.kernels import machine
from zabspec.zoo_cfg import ZooCfg

OK, UNKNOWN = "OK", "UNKNOWN"
AGAIN = 3  # times that folders are listed again while something comes
LOOKS = 10  # times that is looked again at what a running server leaves for a moment
JUST_NOW = 5.0  # seconds behind a write in which a server is taken to be running
FORGETS, HAS_NUMBER = "forgets what it had", "has the number of"
OF_SERVICE = ("WILL_NOT_START", "MAY_NOT_START", "ACCEPTED_AHEAD")
UNLIKE = ("RESTART_DIFFERS", "SNAPSHOT_DIGEST")  # about a tree that is not that of its server's transactions
HOLES = ("GAP", "GAP_UNKNOWN", "MISSING", "PURGED", "LOGS_DELETED", "SNAP_BRIDGED", "PACKED_LOG")
# Of violations those of which what a start makes of them is known.
TOLD_BY_START = ("COMMITTED_LOST", "EPOCH_BEHIND_LOG", "ACCEPTED_BEHIND", "RESTART_DIFFERS", "SNAPSHOT_DIGEST",
                 "TREE_DIFFERS")  # fmt: skip
PAUSE = 0.3  # seconds in which a running server writes its epoch


@dataclass
class Service:
    """Which servers serve when all that were given are started.

    Attributes:
        state: `all`, a `quorum` of those that vote, `none`, or `unknown`.
        serving, voters: names of servers. unable: for the others why not. ahead: servers that have accepted a later
            epoch than others begin, with these.
    """

    state: str = "unknown"
    serving: list[str] = field(default_factory=list)
    voters: list[str] = field(default_factory=list)
    unable: dict[str, str] = field(default_factory=dict)
    ahead: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Audit:
    """The result of an audit.

    Attributes:
        findings: the worst first, notes last.
        open: what cannot be concluded, a sentence each.
        starts: the result of a start of each server, by `release`; if that is empty, by every release that can have
            written the files.
        assumed: what the answer rests on although no file says it, in words, by what it is about.
        forecast: what starting them can lead to; None if it was not asked for.
        too_few: whether the servers given are no quorum of those that vote.
        rest_serves: whether the servers without a finding are a quorum, and no acknowledged write is in danger.
        service: who serves when all voters that were given are started as they are.
    """

    servers: list[Server]
    findings: list[AuditFinding]
    replays: dict[str, Replayed] = field(default_factory=dict)
    assumed: dict[str, str] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    release: str = ""
    forecast: Forecast | None = None
    rest_serves: bool = False
    too_few: bool = False
    service: Service = field(default_factory=Service)

    @property
    def data(self) -> str:
        """Return what is known of the data: `whole`, `damaged`, `lost`, `in danger` or `unknown`."""
        about = [f for f in self.findings if f.code not in OF_SERVICE]
        if any(f.severity == VIOLATION for f in about):
            lost = any(f.code in ("COMMITTED_LOST", "STANDALONE_LOST") and f.severity == VIOLATION for f in about)
            return "lost" if lost else "damaged"
        if any(f.severity == DANGER for f in about):
            return "in danger"
        doubt = self.unanswered or self.too_few or any(f.code in ("LAST_COPY", "CAN_BE_LOST") for f in about)
        return UNKNOWN.lower() if doubt or self.tails else "whole"

    @property
    def tails(self) -> list[AuditFinding]:
        """Return the findings about last transactions that may have been acknowledged by disks that lost them since."""
        apart = {f.server for f in self.findings if f.code == "TAIL_APART"}
        return [f for f in self.findings if f.code == "UNCOMMITTED_TAIL" and f.server not in apart]

    @property
    def verdict(self) -> str:
        """Return the verdict: VIOLATION, DANGER, UNKNOWN (something could not be read, or may be lost), WARN or OK."""
        kinds = {f.severity for f in self.findings}
        for severity in (VIOLATION, DANGER):
            if severity in kinds:
                return severity
        if self.unanswered or self.too_few or self.service.state == "unknown":
            return UNKNOWN
        return WARN if WARN in kinds else OK

    @property
    def unanswered(self) -> list[AuditFinding]:
        """Return the findings that leave it open whether data is in danger."""
        codes = ("UNREADABLE", "LOGS_NOT_GIVEN", "GAP_UNKNOWN")
        return [f for f in self.findings if f.code in codes and f.severity == WARN]

    @property
    def code(self) -> int:
        return {VIOLATION: 1, DANGER: 1, UNKNOWN: 3}.get(self.verdict, 0)

    def told(self, *severities: str) -> list[AuditFinding]:
        return [f for f in self.findings if f.severity in severities]


def myid_of(directory: Directory) -> int:
    """Return the number in a server's file myid; -1 if there is none."""
    found = parse_long(first_line(directory.myid))
    return -1 if found is None else found


def numbers_of(directories: Sequence[Directory]) -> list[int]:
    """Return the servers' numbers: myid, else the digits at the ends of their names if those differ, else others."""
    known = [myid_of(d) for d in directories]
    ends = [re.search(r"(\d{1,9})$", d.name) for d in directories]
    named = [n if n >= 0 else int(end[1]) if end else -1 for n, end in zip(known, ends, strict=True)]
    if len(set(named)) == len(named):
        known = named
    free = iter(sorted(set(range(1, len(known) + 1)) - set(known)))
    return [n if n >= 0 else next(free) for n in known]


def log_summed(path: Path, zxid: int, earlier: LogFile | None = None) -> LogFile:
    """Read a log file; if it was read before and has grown, only the new part is read.

    A file that has changed without growing is read again from the start.
    """
    reader = Reader()
    out = read_on(earlier, reader) if earlier is not None else None
    if out is not None and earlier is not None and out.end > earlier.end:
        return out
    return read_log(path, zxid, reader)


def snapshot_checked(path: Path, zxid: int) -> Snapshot:
    """Read a snapshot by itself."""
    return read_snapshot(path, zxid, DataTree())


def same_stamp(path: Path, before: tuple[int, ...]) -> bool:
    try:
        return stamp(path.stat()) == before
    except OSError:
        return False


def read_servers(directories: list[Directory], earlier: Mapping[str, Server], each: Each) -> list[Server]:
    """Read every file of every server, one task each.

    Unchanged files are reused, and of logs that have grown only the new part is read.
    """
    before = [s.whole or s for s in earlier.values()]
    known = {f.path: f for s in before for f in s.logs if not f.trouble}
    whole = [x for s in before for x in s.snapshots if x.state == "whole"]
    snapshots = {x.path: x for x in whole if same_stamp(x.path, x.stamp)}
    # Snapshots first. A running server writes one while it continues, so it can lack a node that was deleted after the
    # transaction in its name; if it is complete before the logs are read, the deletion is in the part of them that is
    # read.
    packed = [(path, zxid) for d in directories for zxid, path in d.snapshots if path not in snapshots]
    snapshots |= {x.path: x for x in each(snapshot_checked, packed)}
    logs = {path: f for path, f in known.items() if same_stamp(path, f.stamp)}
    files = [(path, zxid, known.get(path)) for d in directories for zxid, path in d.logs if path not in logs]
    logs |= {f.path: f for f in each(log_summed, files)}
    out = []
    for d in directories:  # without what was purged since the folder was listed
        mine = [f for _, path in d.logs if (f := logs[path]).ending != "gone"]
        out.append(Server(d, mine, [x for _, path in d.snapshots if (x := snapshots[path]).state != "gone"]))
        out[-1].follow()
    return out


def files_of(directory: Directory) -> set[Path]:
    return {path for _, path in (*directory.logs, *directory.snapshots)}


def settled(servers: list[Server], each: Each) -> list[Server]:
    """Read again what changed on the servers while they were read.

    A running server writes a snapshot before what is logged behind it, and its epoch before the transactions of the
    epoch: so both are read once more after the logs.
    """
    for _ in range(AGAIN):
        now = [listed(s.directory) for s in servers]
        if all(files_of(d) == files_of(s.directory) for s, d in zip(servers, now, strict=True)):
            break
        servers = read_servers(now, {s.name: s for s in servers}, each)
    for s in servers:
        s.directory.epochs = listed(s.directory).epochs
        if 0 <= s.epoch() < s.top >> 32:  # since 3.8.5 and 3.9.2 what is synchronized is stored just before
            time.sleep(PAUSE)
            s.directory.epochs = listed(s.directory).epochs
    return servers


def in_threads(work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Map a function over many arguments, on the cores of this machine."""
    if len(arguments) < 2:
        return [work(*a) for a in arguments]
    with ThreadPoolExecutor(min(len(arguments), os.cpu_count() or 1)) as pool:
        return list(pool.map(lambda a: work(*a), arguments))


def load_kernels() -> None:
    """Load every kernel as machine code before threads start, since the compiler serves one thread at a time."""
    Reader()
    Reader(sums=False)
    DataTree()
    machine(unsnap)


def audit(
    directories: list[Directory], config: ZooCfg | None = None, show_data: bool = False, digests: bool = True,
    each: Each = in_threads, release: str = "", forecast: bool = False, options: Mapping[str, str] | None = None,
) -> Audit:  # fmt: skip
    """Audit an ensemble.

    Args:
        config: its zoo.cfg, for quorums.
        digests: replay the logs.
        each: runs a function over many arguments: in threads, or as Spark tasks.
        release: of the servers, for what starts; empty for all that can have written the files.
        forecast: also say what starting these servers can come to.
        options: properties of the servers' JVM, by which they read their files.
    """
    for d, number in zip(directories, numbers_of(directories), strict=True):
        d.number = number
    quorums = Quorums(directories, config)
    load_kernels()
    servers = settled(read_servers(directories, {}, each), each)

    def judged(servers: list[Server]) -> Audit:
        rules = rules_for(release or candidates(servers)[0], {**(options or {}), **quorums.options})
        servers = [s.read_by(rules) for s in servers]
        replays = logs_replayed(servers, servers, each) if digests else {}
        return conclude(servers, replays, quorums, show_data, each, rules, forecast, release)

    out = judged(servers)
    for _ in range(LOOKS):
        forgot = any(f.code in FORGOT for f in out.findings if f.severity in (DANGER, WARN))
        if not forgot and all(files_of(s.directory) <= files_of(listed(s.directory)) for s in servers):
            break
        # A running server joins an epoch, or continues, while the others are read, and before 3.8.5 it stores what it
        # was sent after its epoch: files that were read at different times are no danger. Those of a stopped server are
        # as they were read. What is purged meanwhile is in no order, and not there when the logs are replayed.
        time.sleep(PAUSE)
        servers, before_that = settled(again(servers, each), each), servers
        if not all(unchanged(a, b) for a, b in zip(before_that, servers, strict=True)):
            out = judged(servers)
        elif not any(touched(s) for s in servers):
            break
    return out


def again(servers: list[Server], each: Each) -> list[Server]:
    """Read the servers again as they are now."""
    return read_servers([listed(s.directory) for s in servers], {s.name: s for s in servers}, each)


def touched(server: Server) -> bool:
    """Return whether a file of a server was written just now, so that it may be running."""
    paths = [*files_of(server.directory), *server.directory.folders]
    paths += [folder / name for folder in server.directory.folders for name in server.directory.epochs]
    newest = 0.0
    for path in paths:
        with contextlib.suppress(OSError):
            newest = max(newest, path.stat().st_mtime)
    return time.time() - newest < JUST_NOW


def unchanged(one: Server, two: Server) -> bool:
    """Return whether nothing in a server's files changed between two readings."""
    same = one.directory.epochs == two.directory.epochs and files_of(one.directory) == files_of(two.directory)
    return same and all(a.stamp == b.stamp for a, b in zip(one.logs, two.logs, strict=True))


def logs_replayed(servers: list[Server], every: list[Server], each: Each) -> dict[str, Replayed]:
    """Replay logs, with the trees where those of every server, and each server's snapshots, are compared."""
    asked: list[tuple[Server, set[int], Restart | None]] = []
    for s in servers:
        bridged = [x.zxid for run in s.runs if s.may_be_bridged(run) and (x := s.next_snapshot(run)) is not None]
        digests = {x.digest_zxid for x in s.snapshots if x.has_digest}
        asked.append((s, compared_at(every) | digests | set(bridged), None))
    return {s.name: r for s, r in zip(servers, each(replayed, asked), strict=True)}


def settled_crossings(groups: list[list[Server]], replays: dict[str, Replayed], each: Each) -> list[AuditFinding]:
    """Settle what epochs follow where a purged snapshot may say it; replay again the logs of which that changes."""
    out: list[AuditFinding] = []
    for group in groups:
        told = settle_crossings(group, replays)
        out += [f for found in told.values() for f in found]
        again = [s for s in group if s.name in told and s.name in replays]
        replays.update(logs_replayed(again, [s for g in groups for s in g], each))
    return out


def conclude(
    servers: list[Server], replays: dict[str, Replayed], quorums: Quorums, show_data: bool, each: Each,
    rules: Rules, forecast: bool = False, release: str = "",
) -> Audit:  # fmt: skip
    """Derive all findings from the files that were read."""
    groups = separate_ensembles(servers)
    found = settled_crossings(groups, replays, each)
    for s in servers:
        found += [*file_findings(s), *order_findings(s), *snapshot_findings(s), *epoch_findings(s)]
    found += membership_findings(servers, quorums, Agreement(servers, replays, quorums, each))
    found += same_number(servers, {s.name: n for s in servers if (n := myid_of(s.directory)) >= 0})
    found += logs_not_given(servers, quorums.log_directory)
    if len(groups) > 1:
        found.append(mixed(groups))
    started = starts(servers, [release] if release else candidates(servers), dict(rules.options))
    written, rest_serves = 0, len(groups) == 1
    ends: dict[int, int] = {}
    apart: set[str] = set()
    vanish: dict[str, dict[str, list[str]]] = {}
    for group in groups:
        counting = quorums if len(groups) == 1 else Quorums([s.directory for s in group])
        agreement = Agreement(group, replays, counting, each, show_data)
        found += agreement.run()
        written += agreement.written
        ends = agreement.ends()
        found += danger_findings(group, counting, agreement, found)
        if replays:
            found += digest_findings(group, replays, found, show_data)
            for s in group:
                found += snapshot_digests(s, replays[s.name])
            restarts = {s.name: read_by_start(s, rules).restart for s in group}
            differing, trees = restart_findings(group, replays, found, each, restarts)
            found += differing
            dead = partial(is_dead, ends=ends)
            blamed = {n for f in found if f.severity == VIOLATION for n in (f.server, *f.servers)}
            vanish |= vanishing(group, trees, {s.name: replays[s.name] for s in group}, dead, blamed, counting)
            found += [*vanishing_findings(vanish, trees, found), *standalone_findings(group, trees)]
            found = side_by_side(group, found, counting, trees)
        holes = {f.server for f in found if f.code in HOLES}
        for x in started:  # a tree without what was purged is not what is on its disk
            x.option = "" if x.server in holes and TRUST_EMPTY in x.option else x.option
        apart |= {f.server for f in found if f.code == "TAIL_APART" and f.severity == WARN}
        serving = service_of(group, started, counting, apart)
        found += not_starting(group, started, found, serving)
        rest_serves = hold_back(group, found, counting) and rest_serves
    multis = sum(f.failed_multis for s in servers for f in s.logs)
    if multis:
        what = f"{multis:,} records of failed multis, compared without the kinds of their parts"
        found.append(AuditFinding("FAILED_MULTI", NOTE, what))
    if written:
        what = f"{written:,} transactions are written differently and have the same effect"
        found.append(AuditFinding("ENCODING", NOTE, what))
    ahead = look_ahead(servers, quorums, ends, found, rules, vanish) if forecast else None
    if ahead is not None and not any(f.severity in (VIOLATION, DANGER) for f in found):
        found += can_be_lost(ahead, ends, [f for f in found if f.code == "UNCOMMITTED_TAIL"])
    out = Audit(servers, worst(found), replays, forecast=ahead)
    unlike = {f.server for f in found if f.code in UNLIKE and f.server and forecast}
    doubted = doubted_servers([s for s in servers if quorums.votes(s.name, START)], found)
    out.assumed = assumed(servers, quorums, rules, bool(release), bool(replays), unlike, doubted)
    out.starts, out.release, out.rest_serves = started, release, rest_serves
    out.service = service_of(servers, started, quorums, apart) if len(groups) == 1 else Service()
    out.too_few = quorums.too_few(servers)
    out.open = unconcluded(out)
    if quorums.first is None and quorums.changes and quorums.changes[0][0] & LOW:
        since = zxid_text(quorums.changes[0][0])
        out.open.append(f"who voted before {since}, and so what was on a quorum then: no file given lists it")
    return out


def logs_not_given(servers: list[Server], log_directory: str) -> list[AuditFinding]:
    """Return findings about servers whose logs are in a directory that was not given, or may be.

    One of several has no log where it has only been sent a snapshot; if none has one, they are elsewhere, or gone.
    """
    bare = [s for s in servers if log_directory and not s.logs and len(s.directory.folders) == 1]
    what = f"its configuration has a dataLogDir, {log_directory}, and of this server only a data directory without "
    what += "logs was given: give both, as DATA,LOGS"
    out = [AuditFinding("LOGS_NOT_GIVEN", WARN, what, s.name) for s in bare]
    if not bare and not any(s.records or s.directory.trouble or any(f.damages for f in s.logs) for s in servers):
        epoch = max(s.epoch() for s in servers)
        what = f"no server given has a transaction in a log{f', though epoch {epoch} has begun' if epoch > 0 else ''}: "
        what += (
            "either nothing was written since the snapshots, or the logs are in other directories (dataLogDir; give "
        )
        what += "both, as DATA,LOGS), or they are lost"
        out.append(AuditFinding("LOGS_NOT_GIVEN", WARN, what, servers=[s.name for s in servers]))
    return out


def look_ahead(
    servers: list[Server], quorums: Quorums, ends: dict[int, int], found: list[AuditFinding], rules: Rules,
    vanish: dict[str, dict[str, list[str]]],
) -> Forecast:  # fmt: skip
    """Forecast what starting these servers can lead to."""
    release = rules.release
    voters = [s for s in servers if quorums.votes(s.name, START)]
    names = {s.name for s in voters}
    for f in found:
        own = not f.server or f.server in names
        if f.code in ("SAME_MYID", "NOT_ONE_ENSEMBLE"):
            return Forecast(release, f.sentence)
        if own and (
            f.code in ("UNREADABLE", "LOGS_NOT_GIVEN") or (f.severity == VIOLATION and f.code not in TOLD_BY_START)
        ):
            return Forecast(release, f"{f.code} {f.place}: how a server treats such files is unknown".strip())
        if own and f.code in HIDING and f.severity != NOTE:
            return Forecast(release, f"{f.code} {f.place}: its history may continue unseen".strip())
    ensemble, certain = quorums.at(START), all(myid_of(s.directory) >= 0 for s in voters)
    if ensemble is None and len(servers) == 1:
        return Forecast(release, "one server was given, and a forecast is of several (--config lists them)")
    moved = [s.name for s in servers if not unchanged(s, Server(listed(s.directory), s.logs, s.snapshots))]
    stamps = [(f.path, f.stamp) for s in servers for f in s.logs]
    stamps += [(x.path, x.stamp) for s in servers for x in s.snapshots]
    if moved or not all(same_stamp(path, stamp) for path, stamp in stamps):
        return Forecast(
            release, f"{', '.join(moved) or 'a server'} changed its files while they were read: it is running"
        )
    told = told_to_observer(servers, quorums)
    if told[0] > max((s.top for s in voters), default=0):
        return Forecast(release, f"no voting server has {zxid_text(told[0])}, which may have been acknowledged")
    doubted, applied = doubted_servers(voters, found), max(applied_by_snapshot(voters), told)[0]
    out = forecast_of(voters, quorums.numbers, ensemble, ends, rules, doubted, applied, certain)
    for o in out.outcomes:
        for c in (*o.changes, *o.later):
            trees = {o.leader} if c.sent_whole else set()
            trees |= {c.server} if rules.walks_log or not c.sent_whole else set()
            c.vanish = sorted({path for name in trees for path in vanish.get(name, ())}) if c.serves else []
    return out


def can_be_lost(ahead: Forecast, ends: dict[int, int], alone: Sequence[AuditFinding]) -> list[AuditFinding]:
    """Return a finding about what the forecast says can be lost, for the case that no other finding says so.

    What only a tail of less than a quorum has may have been acknowledged by disks that have lost it since: no file
    shows it, and starting the others loses it.
    """
    if ahead.unknown and alone:
        what = (
            f"what a start does with its last transactions, which less than a quorum has, is unknown: {ahead.unknown}"
        )
        return [AuditFinding("CAN_BE_LOST", WARN, what, alone[0].server, "", -1, alone[0].zxid, alone[0].last)]
    tails = [o for o in ahead.outcomes if any(not is_dead(lo, ends) for lo, _ in o.drops)]
    if not (ahead.losing or tails):
        return []
    first = min(ahead.losing or tails, key=lambda o: not (o.loses or o.may_lose or o.vanish))
    what = f"{' and '.join(first.started)}, started without the others, elect {first.leader} and "
    lo, hi = (first.loses or first.may_lose or first.drops or [(-1, -1)])[0]
    if first.loses or first.may_lose:
        what += f"continue without {zxid_text(lo)}..{zxid_text(hi)}, which may have been acknowledged"
    elif first.vanish:
        what += f"serve without {len(first.vanish)} nodes that others have: {', '.join(first.vanish[:5])}"
    elif first.again:
        what += f"begin epoch {first.epoch} again, of which {', '.join(first.again)} has transactions"
    else:
        what += f"continue without {zxid_text(lo)}..{zxid_text(hi)}, which less than a quorum of these disks has: "
        what += "whether it was acknowledged before other disks lost it is unknown"
    return [AuditFinding("CAN_BE_LOST", DANGER if ahead.losing else WARN, what, "", "", -1, lo, hi, first.started)]


def service_of(servers: list[Server], started: list[Start], quorum: Quorums, apart: set[str]) -> Service:
    """Return who serves when all these servers are started; servers that were not given are assumed to be up.

    Without a named release it is that of the release by which most of them start; a server may not start that some of
    the releases start and others do not. Servers that are `apart` have a snapshot of what no other history has.
    """
    voters = [s for s in servers if quorum.votes(s.name, START)]
    mine = [x for x in started if x.server in {s.name for s in voters}]
    watching = {s.name for s in servers if s not in voters}
    varying = {x.server for x in mine for y in mine if x.server == y.server and x.outcome != y.outcome}
    best = Service()
    for release in dict.fromkeys(r for x in mine for r in x.releases):
        by = {x.server: x for x in mine if release in x.releases}
        ends = {n: x.outcome if n not in varying else "" for n, x in by.items()}
        out = Service("none", [n for n, end in ends.items() if end == STARTS], [s.name for s in voters])
        out.unable = {n: "will not start" for n, end in ends.items() if end == REFUSES}
        out.unable |= {n: "may not start" for n, end in ends.items() if end not in (STARTS, REFUSES)}
        out.unable |= {n: "may not join the others" for n in out.serving if n in apart}
        out.serving = [n for n in out.serving if n not in apart]
        out.unable |= {n: FORGETS for n, x in by.items() if x.lacks and forgets(n, x.lacks, servers)}
        for s in voters:
            if twin := next((t.name for t in voters if t is not s and t.directory.number == s.directory.number), ""):
                out.unable.setdefault(s.name, f"{HAS_NUMBER} {twin}")
            serving = [t for t in voters if t.name in out.serving]
            if s.name in out.serving and (others := accepted_ahead(s, serving, quorum)):
                out.serving.remove(s.name)
                out.unable[s.name] = f"may not join {', '.join(others)}"
                out.ahead[s.name] = others
        twins = [n for n, why in out.unable.items() if why.startswith(HAS_NUMBER)]
        out.serving = [n for n in out.serving if n not in twins]
        if twins:
            out.state = "unknown"
        elif quorum.with_absent(out.serving, START):
            out.state = "quorum" if out.unable else "all"
        elif quorum.with_absent([n for n in by if out.unable.get(n) != "will not start"], START):
            out.state = "unknown"
        for x in started:  # an observer that is down changes nothing for the others
            if release in x.releases and x.server in watching and x.outcome != STARTS:
                out.unable[x.server] = "will not start" if x.outcome == REFUSES else "may not start"
        if not best.voters or len(out.serving) > len(best.serving):
            best = out
    return best


def forgets(name: str, zxid: int, servers: list[Server]) -> bool:
    """Return whether there was anything up to a transaction: with a counter, or on any server."""
    others = [s for s in servers if s.name != name]
    return (
        bool(zxid & LOW)
        or any(lo <= zxid for s in others for lo, _ in s.seen)
        or any(0 < x.zxid <= zxid for s in others for x in s.snapshots)
    )


def accepted_ahead(server: Server, starting: list[Server], quorum: Quorums) -> list[str]:
    """Return others that are a quorum and begin an epoch below the one that a server has accepted.

    It follows no leader of such an epoch (Learner.registerWithLeader).
    """
    mine = accepted_epoch(server)
    others = [s.name for s in starting if s is not server and accepted_epoch(s) + 1 < mine]
    return others if quorum(others, START) else []


def accepted_epoch(server: Server) -> int:
    return server.epoch("acceptedEpoch", max(server.top >> 32, server.epoch()))


def not_starting(
    servers: list[Server], started: list[Start], found: list[AuditFinding], service: Service
) -> list[AuditFinding]:
    """Return findings about servers that do not start, or cannot join the others, where nothing graver is found."""
    severity = WARN if service.state in ("all", "quorum", "unknown") else DANGER
    told = {f.server for f in found if f.severity in (VIOLATION, DANGER) or (f.severity == severity == WARN)}
    out = []
    for name, why in service.unable.items():
        mine = [x for x in started if x.server == name]
        one = next((x for x in mine if x.outcome != STARTS), mine[0])
        if why == FORGETS:
            what = f"started, it {one.sentence}: what came before, up to {zxid_text(one.lacks)}, is not in that tree"
            empty = [n for n, said in service.unable.items() if said == FORGETS]
            # with zxid 0 it leads only those that are as empty
            leads = one.zxid or 2 * len(empty) > len(service.voters)
            out.append(AuditFinding("START_FORGETS", DANGER if leads else WARN, what, name, zxid=one.lacks))
        elif name in told or (one.outcome == STARTS and name not in service.ahead):
            continue
        elif why == "will not start":
            out.append(AuditFinding("WILL_NOT_START", severity, f"started, it {one.sentence}", name))
        elif why == "may not start":
            by = f"depends on the release (--release names it): {one.releases[0]} " if len(mine) > 1 else ""
            out.append(AuditFinding("MAY_NOT_START", WARN, f"whether it starts {by}{one.sentence}", name))
        else:
            accepted = accepted_epoch(next(s for s in servers if s.name == name))
            what = f"its acceptedEpoch is {accepted}, and {', '.join(service.ahead[name])}, a quorum, begin an earlier "
            what += "epoch when they are started without it: then it cannot follow their leader"
            out.append(AuditFinding("ACCEPTED_AHEAD", severity, what, name, "acceptedEpoch"))
    return out


def hold_back(servers: list[Server], found: list[AuditFinding], quorum: Quorums) -> bool:
    """Withdraw the advice to move a directory away where that could lose a last copy or the quorum.

    It is withdrawn if the servers without findings are no quorum without the server, or the server may have a last
    copy.

    Returns:
        Whether the servers without findings are a quorum, and every finding names its servers.
    """
    newest = max((s.top for s in servers), default=0)
    names = {s.name for s in servers}
    grave = [f for f in found if f.severity in (VIOLATION, DANGER)]
    blamed = {n for f in grave for n in (f.server, *f.servers)}
    sound = [s.name for s in servers if s.name not in blamed and s.top and s.records]
    dangerous = any(f.severity == DANGER for f in grave)
    for f in found:
        safe = f.server and not dangerous and quorum([n for n in sound if n != f.server], newest)
        if (f.server in names or not f.server) and (not safe or UNREAD in f.sentence):
            f.advice = advice_held(f.code, UNREAD in f.sentence and bool(safe))
    named = all(f.server or f.servers for f in grave)
    return named and not dangerous and quorum(sound, newest)


def unconcluded(found: Audit) -> list[str]:
    """Return, as sentences, what these directories cannot tell."""
    out = [
        "which of the last transactions were committed: those that a quorum has logged may have been; no file shows "
        "more"
    ]
    if any(f.code in ("PURGED", "GAP_UNKNOWN") for f in found.findings):
        out.append("what was purged: transactions before the oldest log and snapshot are unknown")
    out.append("what TRUNC has removed from a log, and when clients saw what")
    if any(f.code == "NO_DIGESTS" for f in found.findings):
        out.append("which server is wrong if two differ and there is no majority: there are no digests")
    return out
