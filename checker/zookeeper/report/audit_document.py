"""The JSON report of an audit, as types; `python -m checker.zookeeper.report.audit_document` prints its JSON schema.

Objects are constructed in the order of their keys.
"""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from checker.opinion.outcome import NO_OPINION, SecondOpinion, SecondOpinionJson
from checker.report.documents import ExitCode, Version
from checker.zookeeper.report.audit_forecast import OK, UNKNOWN
from traces.zookeeper.audit.audit import Audit
from traces.zookeeper.audit.codes import CODES
from traces.zookeeper.audit.findings import DANGER, NOTE, VIOLATION, WARN, AuditFinding
from traces.zookeeper.audit.forecast import Change, Forecast, ForecastOutcome, Ranges
from traces.zookeeper.audit.starting import STARTS, Start
from traces.zookeeper.disk.decode import zxid_text
from traces.zookeeper.disk.server import Server
from zabspec.typed import Natural, Typed, one_of, schema

StartOutcome = Annotated[str, one_of("starts", "refuses", "unknown")]
Severity = Annotated[str, one_of(VIOLATION, DANGER, WARN, NOTE)]
ForecastVerdict = Annotated[str, one_of(OK, DANGER, UNKNOWN)]
When = Annotated[str, one_of("started", "later")]
Data = Annotated[str, one_of("whole", "damaged", "lost", "in danger", "unknown")]
ServiceState = Annotated[str, one_of("all", "quorum", "none", "unknown")]
AuditVerdict = Annotated[str, one_of(OK, WARN, DANGER, VIOLATION, UNKNOWN)]
Zxids = Annotated[list[str], Meta(min_length=2, max_length=2)]


class ServerReport(Typed, frozen=True):
    """A server, as its directories show it: zxids are epoch:counter, both hexadecimal."""

    name: str
    number: int
    folders: list[str]
    first: str | None
    last: str | None
    records: int
    logs: int
    snapshots: int
    digests_replayed: int


class StartReport(Typed, frozen=True):
    """What a start of a server from these files comes to.

    Attributes:
        releases: releases that do the same.
        zxid: the last transaction of the tree, with which the server votes.
        epoch: currentEpoch, with which it votes.
        records: transactions that are applied behind the snapshot.
        log_line: A part of the line in the server's log that says why it ends.
        option: A JVM option with which it would start all the same.
    """

    server: str
    releases: list[str]
    outcome: StartOutcome
    zxid: str | None
    epoch: int | None
    snapshot: str | None
    records: int | None
    log_line: str | None
    reason: str | None
    option: str | None


class FindingReport(Typed, frozen=True):
    """A finding, or a note.

    Attributes:
        code: what it is; docs/reference/audit-findings.md has them all.
        server: whose; null: of no server, or nothing says whose.
        servers: all that it concerns.
        file: the file's name within the server's directory.
        offset: the byte in it where the first record stands that shows the fault.
        zxid: epoch:counter, both hexadecimal; in a gap the missing one.
        zxid_hex: the same as ZooKeeper writes it, 0x...
        last_zxid: the last of several.
        concerns: the property of ZAB.
        clients: what it means for clients.
        known_bugs: which known faults of ZooKeeper leave such a mark, and in which releases.
    """

    code: Annotated[str, Meta(pattern="^[A-Z_]+$")]
    severity: Severity
    server: str | None
    servers: list[str]
    file: str | None
    offset: Natural | None
    zxid: str | None
    zxid_hex: str | None
    last_zxid: str | None
    sentence: str
    what: str
    concerns: str | None
    clients: str | None
    known_bugs: str | None
    recommendation: str | None
    evidence: dict[str, Any]


class ChangeReport(Typed, frozen=True):
    """What happens to a server.

    Attributes:
        when: of those that are started, or started when these serve.
        cuts: on its disk, and not in the history that is served.
        gets: it gets from its leader.
        keeps: it applies, and its leader has not.
        sent_whole: in the model its leader sends it a whole tree (SNAP); from 3.5.0 on a leader may send what
            its log has instead.
        vanish: nodes that other servers have, and the tree that it serves may lack.
    """

    server: str
    when: When
    serves: bool
    cuts: list[Zxids]
    gets: list[Zxids]
    keeps: list[Zxids]
    sent_whole: bool
    vanish: list[str]
    reason: str | None


class OutcomeReport(Typed, frozen=True):
    """What a start of some servers comes to.

    Attributes:
        vanish: nodes that other servers have, and the tree of the leader lacks.
        loses: A quorum of the disks has it, and the history that is served has not.
        may_lose: the same of what may have been on a quorum once.
        drops: the same of all else.
        brings_back: served, and on less than a quorum of the disks.
        run: the steps of the model that lead there.
        repeats_epoch_of: servers that have transactions of the epoch that begins: what is written in it gets
            the same zxids.
    """

    started: list[str]
    leader: str | None
    epoch: int | None
    last_zxid: str | None
    loses: list[Zxids]
    may_lose: list[Zxids]
    drops: list[Zxids]
    brings_back: list[Zxids]
    repeats_epoch_of: list[str]
    vanish: list[str]
    servers: list[ChangeReport]
    run: list[str]


class LastCopyReport(Typed, frozen=True):
    """What may have been acknowledged, and is on less than a quorum of disks.

    Attributes:
        zxids: the first and the last.
    """

    zxids: Zxids
    servers: list[str]


class ForecastReport(Typed, frozen=True):
    """What starting the servers from these files can come to.

    Attributes:
        reason: why nothing can be told.
        states: states of the model that were looked at.
        all_at_once: whether every order of the steps of all servers was gone through, not only of each
            smallest quorum and of who comes later.
        cut_off: whether some runs have more elections that fail than were gone through.
        second_opinion: how the second semantics' opinion of the model's runs from these disks compares.
    """

    verdict: ForecastVerdict
    release: str
    reason: str | None
    states: int
    all_at_once: bool
    cut_off: bool
    outcomes: list[OutcomeReport]
    last_copies: list[LastCopyReport]
    second_opinion: SecondOpinionJson | UnsetType = UNSET


class AuditReport(Typed, frozen=True, kw_only=True):
    """What `zabcheck audit --json` writes on stdout; docs/reference/audit-findings.md says more.

    Attributes:
        format: the version of this format.
        headline: whether data is in danger, and what not to do.
        assumed: what the answer rests on although no file says it, by what it is about.
        request: the request of which this is the answer: its kind, and each value that is not the default.
            Null: not known.
        starts: what a start of each server from these files comes to.
        forecast: with --forecast: what starting the servers from these files can come to.
    """

    format: Version
    zabcheck: str
    verdict: AuditVerdict
    data: Data
    service: ServiceState
    headline: str
    sentence: str
    exit_code: ExitCode
    request: dict[str, Any] | None
    assumed: dict[str, str]
    servers: list[ServerReport]
    starts: list[StartReport]
    forecast: ForecastReport | None
    findings: list[FindingReport]
    notes: list[FindingReport]
    cannot_be_concluded: list[str]


# --- made of an audit --------------------------------------------------------------------------------------


def finding_of(f: AuditFinding) -> FindingReport:
    """Return a finding for the report."""
    row = CODES[f.code]
    place = f.offset if f.offset >= 0 else None
    zxid, hexadecimal = (zxid_text(f.zxid), f"{f.zxid:#x}") if f.zxid >= 0 else (None, None)
    last = zxid_text(f.last) if f.last >= 0 and f.last != f.zxid else None
    servers = f.servers or ([f.server] if f.server else [])
    return FindingReport(
        f.code, f.severity, f.server or None, servers, f.file or None, place, zxid, hexadecimal, last, f.sentence,
        row.what, row.concerns or None, row.clients or None, row.bugs or None, f.advice or row.do or None, f.evidence,
    )  # fmt: skip


def start_of(x: Start) -> StartReport:
    """Return the start of a server for the report."""
    zxid, epoch, records = (f"0x{x.zxid:x}", x.epoch, x.records) if x.outcome == STARTS else (None, None, None)
    further = (x.line or None, x.why or None, x.option or None)
    return StartReport(x.server, list(x.releases), x.outcome, zxid, epoch, x.snapshot or None, records, *further)


def server_of(s: Server, audit: Audit) -> ServerReport:
    """Return a server for the report."""
    replay = audit.replays.get(s.name)
    first, last = zxid_text(s.runs[0].lo) if s.runs else None, zxid_text(s.top) if s.top else None
    return ServerReport(
        s.name, s.directory.number, list(map(str, s.directory.folders)), first, last, s.records, len(s.logs),
        len(s.snapshots), replay.checked if replay else 0,
    )  # fmt: skip


def forecast_of(ahead: Forecast, verdict: str, second: SecondOpinion) -> ForecastReport:
    """Return a forecast for the report."""
    return ForecastReport(
        verdict, ahead.release, ahead.unknown or None, ahead.states, ahead.at_once, ahead.cut_off,
        [outcome_of(o) for o in ahead.outcomes],
        [LastCopyReport(pairs([(c.lo, c.hi)])[0], c.servers) for c in ahead.last_copies],
        second.as_json() if second != NO_OPINION else UNSET,
    )  # fmt: skip


def outcome_of(o: ForecastOutcome) -> OutcomeReport:
    changes = [change_of("started", c) for c in o.changes] + [change_of("later", c) for c in o.later]
    leader, epoch, last = (o.leader, o.epoch, f"0x{o.last:x}") if o.leader else (None, None, None)
    return OutcomeReport(
        o.started, leader, epoch, last, pairs(o.loses), pairs(o.may_lose), pairs(o.drops), pairs(o.revives), o.again,
        o.vanish, changes, o.run,
    )  # fmt: skip


def change_of(when: str, c: Change) -> ChangeReport:
    moved = (pairs(c.cuts), pairs(c.gets), pairs(c.keeps))
    return ChangeReport(c.server, when, c.serves, *moved, c.sent_whole, c.vanish, c.why or None)


def pairs(found: Ranges) -> list[list[str]]:
    return [[f"0x{lo:x}", f"0x{hi:x}"] for lo, hi in found]


if __name__ == "__main__":
    json.dump(schema(AuditReport), sys.stdout, indent=1)
