"""Determine who votes from evidence: a zoo.cfg, /zookeeper/config in snapshots, and reconfigurations in logs.

A server of 3.9.5 that starts counts by its zoo.cfg or dynamic file alone, whatever its snapshots and logs say: with a
file of five voters, two of the three that /zookeeper/config listed did not serve. Three did, and wrote the five down as
their next dynamic file. Without a file the later of a record and a snapshot says who voted last.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from traces.zookeeper.audit.agree import Agreement
from traces.zookeeper.audit.findings import NOTE, WARN, AuditFinding
from traces.zookeeper.disk.decode import BrokenPayload, decoded, zxid_text
from traces.zookeeper.disk.logs import payload_at
from traces.zookeeper.disk.numbers import CONFIG_NODE
from traces.zookeeper.disk.rules import OPTIONS
from traces.zookeeper.disk.server import LOW, Directory, Server
from zabspec.ensemble import ConfigError, Ensemble
from zabspec.zoo_cfg import ZooCfg, membership

START = 1 << 64  # in place of a zxid: behind all transactions, when the servers are started again


class Quorums:
    """Decides which servers are a quorum.

    Args:
        directories: the servers that were given.
        config: a zoo.cfg; None for what snapshots and logs say, or else majorities of the servers given.

    Attributes:
        changes: what was in force from a transaction on, ascending; `sources` says for each where it is from.
    """

    def __init__(self, directories: list[Directory], config: ZooCfg | None = None) -> None:
        self.numbers = {d.name: d.number for d in directories}
        named = config.settings if config is not None else {}
        # a key that it does not know becomes a property of a server's JVM (QuorumPeerConfig.parseProperties)
        passed_on = {f"zookeeper.{key}": value for key, value in named.items()}
        self.options = {key: passed_on[key] for key in OPTIONS if key in passed_on}
        self.log_directory = named.get("dataLogDir", "") if named.get("dataLogDir") != named.get("dataDir") else ""
        self.first = config.voters if config is not None else None
        self.version = config.version if config is not None else 0
        self.changes: list[tuple[int, Ensemble]] = []
        self.sources: dict[int, str] = {}
        self.unused = ""

    def at(self, zxid: int) -> Ensemble | None:
        """Return the ensemble that is in force at a transaction; None for majorities of the given servers."""
        found = [e for z, e in self.changes if z <= zxid]
        return found[-1] if found else self.first

    def __call__(self, names: Iterable[str], zxid: int) -> bool:
        ensemble, chosen = self.at(zxid), frozenset(self.numbers[n] for n in names)
        if ensemble is None:
            return 2 * len(chosen) > len(self.numbers)
        return ensemble.is_quorum(chosen & frozenset(ensemble.participants))

    def with_absent(self, names: Iterable[str], zxid: int) -> bool:
        """Return whether these servers and all that were not given are a quorum."""
        ensemble = self.at(zxid)
        if ensemble is None:
            return self(names, zxid)
        absent = frozenset(ensemble.participants) - frozenset(self.numbers.values())
        chosen = frozenset(self.numbers[n] for n in names) | absent
        return ensemble.is_quorum(chosen & frozenset(ensemble.participants))

    def votes(self, name: str, zxid: int) -> bool:
        """Return whether a server's vote counts: it is no observer, and its weight is not 0."""
        ensemble = self.at(zxid)
        if ensemble is None:
            return True
        number = self.numbers[name]
        return number in ensemble.participants and ensemble.weights[number] > 0

    def observes(self, name: str, zxid: int) -> bool:
        """Return whether a server is an observer."""
        ensemble = self.at(zxid)
        return ensemble is not None and self.numbers[name] in ensemble.observers

    def unknown(self, servers: Sequence[Server]) -> bool:
        """Return whether nothing says who votes: of one server alone, which has been in an ensemble."""
        newest = max((max(s.top >> 32, s.epoch()) for s in servers), default=0)
        return len(servers) == 1 and newest > 0 and self.at(START) is None

    def too_few(self, servers: Sequence[Server]) -> bool:
        """Return whether the servers that were given are not known to be a quorum of those that vote."""
        newest = max((s.top for s in servers), default=0)
        return self.unknown(servers) or not self((s.name for s in servers), newest)

    @property
    def told(self) -> str:
        """Return who votes, and where that is from."""
        if self.first is None and not self.changes:
            return f"majorities of the {len(self.numbers)} servers given{self.unused}"
        version, now = self.changes[-1] if self.changes else (0, self.first)
        assert now is not None
        said = (
            f"{now.kind}, participants {listed(now.participants)}, as {self.sources.get(version, 'the zoo.cfg')} says"
        )
        if absent := sorted(set(now.participants) - set(self.numbers.values())):
            said += f"; of these {listed(absent)} {'was' if len(absent) == 1 else 'were'} not given, "
            said += "and a forecast does not start it" if len(absent) == 1 else "and a forecast does not start them"
        return said


def listed(servers: Iterable[int]) -> str:
    return ", ".join(map(str, servers))


def membership_findings(servers: list[Server], quorums: Quorums, agreement: Agreement) -> list[AuditFinding]:
    """Return findings about the membership in logs and snapshots, and record it in the quorums."""
    out, found = logged_changes(servers, quorums)
    applied = snapshot_memberships(servers, bool(found))
    leave_out_uncommitted(out, found, applied, quorums, agreement)
    earliest = min(found, default=None)
    for version, (ensemble, source) in applied.items():
        if version not in found:
            found[version] = ensemble
            quorums.sources[version] = source
    if found and not all(s.directory.myid for s in servers):  # whose numbers these are is not known
        version = max(found)
        quorums.unused = f" ({quorums.sources[version]} lists voters {listed(found[version].participants)}, but a "
        quorums.unused += "directory has no myid)"
        found.clear()
    if found and earliest != min(found) and quorums.first is None:
        found[0] = found[min(found)]  # a leader's first term has written down what was in force before
        quorums.sources[0] = quorums.sources[min(v for v in found if v in quorums.sources)]
    if quorums.first is not None and quorums.version:
        found.setdefault(quorums.version, quorums.first)
        quorums.sources.setdefault(quorums.version, "the dynamic file of the zoo.cfg")
    quorums.changes = sorted(found.items(), key=lambda item: item[0])
    if quorums.first is not None and quorums.changes:
        version, last = quorums.changes[-1]
        if replace(last, observers=(), oracle="") != replace(quorums.first, observers=(), oracle=""):
            what = f"the zoo.cfg has {quorums.first.kind}, participants {listed(quorums.first.participants)}, but "
            what += f"{quorums.sources[version]} has {last.kind}, participants {listed(last.participants)} (version "
            what += f"{version:x}): servers that start with this file count by it"
            out.append(AuditFinding("CONFIG_DIFFERS", WARN, what))
            quorums.changes.append((START, quorums.first))
            quorums.sources[START] = "the zoo.cfg"
    return out


def leave_out_uncommitted(
    out: list[AuditFinding], found: dict[int, Ensemble], applied: Iterable[int], quorums: Quorums, agreement: Agreement
) -> None:
    """Remove reconfigurations that less than a quorum of those before them have: no leader can have committed them."""
    ends, proposed = agreement.ends(), sorted(found.items())
    for zxid, ensemble in proposed:
        quorums.changes = [(z, e) for z, e in proposed if z < zxid and z in found]
        having = [s.name for s in agreement.servers if agreement.holds(s, zxid, ends)]
        if quorums.at(zxid - 1) is None:  # those before are taken to be all that are known
            voters = tuple(sorted({*quorums.numbers.values(), *ensemble.participants}))
            quorums.changes = [(0, Ensemble(voters, (), {}, dict.fromkeys(voters, 1)))]
        if zxid not in applied and not quorums.with_absent(having, zxid - 1):
            del found[zxid]
            note = next(f for f in out if f.code == "CONFIG" and f.zxid == zxid)
            note.sentence += "; less than a quorum has it in its history, and it is not counted"


def logged_changes(servers: list[Server], quorums: Quorums) -> tuple[list[AuditFinding], dict[int, Ensemble]]:
    """Return notes about reconfigurations in the logs, and the membership behind each by its transaction."""
    out: list[AuditFinding] = []
    found: dict[int, Ensemble] = {}
    for server in servers:
        for f in server.logs:
            for place, zxid in f.configs:
                if zxid in found:
                    continue
                try:
                    ensemble, _ = membership(config_text(payload_at(f.path, place)))
                except (BrokenPayload, ConfigError) as problem:
                    out.append(AuditFinding("CONFIG_UNREAD", NOTE, f"{problem}", server.name, f.name, place, zxid))
                    continue
                found[zxid] = ensemble
                quorums.sources[zxid] = f"the record {zxid_text(zxid)} of {server.name}'s {f.name}"
                what = f"from {zxid_text(zxid)} on: {ensemble.kind}, participants {list(ensemble.participants)}"
                out.append(AuditFinding("CONFIG", NOTE, what, server.name, f.name, place, zxid))
    return out, found


def snapshot_memberships(servers: list[Server], changed: bool) -> dict[int, tuple[Ensemble, str]]:
    """Return what /zookeeper/config lists in the newest usable snapshot of each server, by version.

    Args:
        changed: the membership changed, so that older snapshots say who voted before.
    """
    out: dict[int, tuple[Ensemble, str]] = {}
    usable = [[x for x in reversed(s.snapshots) if x.usable and x.sealed] for s in servers]
    for place in range(max(map(len, usable), default=0)):
        if place and not changed and not any(version & LOW for version in out):
            break
        for server, snapshots in zip(servers, usable, strict=True):
            for x in snapshots[place : place + 1]:
                with contextlib.suppress(ConfigError):
                    if x.config:
                        ensemble, version = membership(x.config.decode("latin-1"))
                        out.setdefault(version, (ensemble, f"/zookeeper/config of {server.name}'s {x.name}"))
    return out


def config_text(payload: bytes) -> str:
    """Return what a transaction writes to /zookeeper/config.

    Raises:
        Broken: it writes nothing there.
    """
    txn = decoded(payload)
    parts: list[dict[str, Any]] = [txn.fields, *(f for _, f in txn.fields.get("parts", ()))]
    for fields in parts:
        if fields.get("path") == CONFIG_NODE and isinstance(fields.get("data"), bytes):
            data: bytes = fields["data"]
            return data.decode("latin-1")
    raise BrokenPayload(f"it writes nothing to {CONFIG_NODE}")
