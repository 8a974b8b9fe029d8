"""Every kind of finding with every kind of transaction in every output format: no internal error.

Codes, severities, kinds of transaction and formats come from the tables of the product. A kind of transaction that the
decoder gains without a body here fails `test_every_kind_has_a_body`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pytest

from checker.report.formats.registry import formats_of
from checker.zookeeper.report.audit import Audited, in_words, moment
from tests.fuzz.audited import rendered
from tests.zookeeper.healthy import TXNS
from tests.zookeeper.written import Txn, create, delete, ensemble, server, set_data, ustring, zxid
from traces.zookeeper.audit import audit as audits
from traces.zookeeper.audit.audit import Audit, audit
from traces.zookeeper.audit.codes import TABLE
from traces.zookeeper.audit.findings import RANKS, AuditFinding
from traces.zookeeper.disk import numbers as k
from traces.zookeeper.disk.decode import KINDS, BrokenPayload, decoded
from traces.zookeeper.disk.server import find_directory

VERDICTS = ("VIOLATION", "DANGER", "UNKNOWN", "WARN", "OK")
AT = zxid(3, 7)  # the transaction in question
ACLS = struct.pack(">ii", 1, 31) + ustring("world") + ustring("anyone")
BODIES = {
    k.ERROR: struct.pack(">i", -101), k.CREATE_SESSION: struct.pack(">i", 30_000), k.CLOSE_SESSION: b"",
    k.CREATE: create("/new", b"1")[1], k.CREATE2: create("/new", b"1")[1], k.DELETE: delete("/n1_2")[1],
    k.SET_DATA: set_data("/n1_2", b"1")[1], k.RECONFIG: set_data("/zookeeper/config", b"version=0")[1],
    k.SET_ACL: ustring("/n1_2") + ACLS + struct.pack(">i", 1), k.CHECK: ustring("/n1_2") + struct.pack(">i", 0),
    k.CREATE_CONTAINER: ustring("/new") + ustring("") + ACLS + struct.pack(">i", 1),
    k.DELETE_CONTAINER: ustring("/n1_2"),
    k.CREATE_TTL: ustring("/new") + ustring("") + ACLS + struct.pack(">iq", 1, 30_000),
}  # fmt: skip


def multi_of(*parts: tuple[int, bytes]) -> bytes:
    packed = b"".join(struct.pack(">ii", kind, len(body)) + body for kind, body in parts)
    return struct.pack(">i", len(parts)) + packed


def transactions() -> dict[str, tuple[int, bytes]]:
    """Every kind of transaction with a body, multis with every part, and what no release writes."""
    out = {KINDS[kind]: (kind, body) for kind, body in BODIES.items()}
    out["multi"] = (k.MULTI, multi_of(*BODIES.items()))
    out["empty multi"] = (k.MULTI, multi_of())
    out["failed multi"] = (k.MULTI, multi_of(*((k.ERROR, BODIES[k.ERROR]) for _ in "12")))
    out["multi with raw parts"] = (k.MULTI, multi_of((k.CREATE, BODIES[k.ERROR]), (99, b"")))
    out["closeSession with paths"] = (k.CLOSE_SESSION, struct.pack(">i", 1) + ustring("/e"))
    out["create without its parent's version"] = (k.CREATE, BODIES[k.CREATE][:-4])
    out["setData of nothing"] = (k.SET_DATA, ustring("/n1_2") + struct.pack(">ii", -1, 1))
    out["unknown"] = (99, b"12345678")
    return out


def evidence() -> list[object]:
    """What a finding can have as evidence: each transaction as JSON, with and without data, and other values."""
    out: list[object] = [None, True, [], ["a"], {}, {"/path": "data"}, "words", 7]
    for kind, body in transactions().values():
        payload = struct.pack(">qiqqi", -1, 1, AT, 1, kind) + body
        try:
            out += [decoded(payload).as_json(show) for show in (False, True)]
        except BrokenPayload:
            out.append(None)  # as the audit has it
    return out


def test_every_kind_has_a_body() -> None:
    assert set(BODIES) | {k.MULTI} == set(KINDS)
    assert set(formats_of("audit")) >= {"html", "junit"}


@pytest.mark.slow(seconds=2)
def test_every_finding_with_every_transaction_in_every_format(tmp_path: Path) -> None:
    found = audit([find_directory([p], p.name) for p in ensemble(tmp_path, server(TXNS), server(TXNS), server(TXNS))])
    shown_as = evidence()
    places = cycle([("", "", -1, -1), ("server1", "log.100000001", 16, AT), ("", "", -1, zxid(9, 1)),
                    ("server2", "snapshot.0", -1, 0), ("server9", "gone", 0, AT)])  # fmt: skip
    findings = []
    for code, severity, place, last in zip(TABLE, cycle(RANKS), places, cycle([-1, AT + 1]), strict=False):
        named = {f"{n}. evidence": value for n, value in enumerate(shown_as)}
        findings.append(AuditFinding(code.code, severity, "it is so", *place, last, ["server1", "server2"], named))
    whole = list(rendered(Audited(Audit(found.servers, findings, found.replays, {"voters": "q"}, starts=found.starts))))
    assert all(c.code in str(whole[0]) for c in TABLE)
    for finding in findings:  # headlines and sentences name the first
        alone = [replace(finding, evidence={})]
        list(rendered(Audited(Audit(found.servers, alone, found.replays, {"voters": "q"}, starts=found.starts))))


def lost(txns: list[Txn]) -> list[Txn]:
    return [t for t in txns if t.zxid != AT]


def other(txns: list[Txn]) -> list[Txn]:
    return [replace(t, cxid=77) if t.zxid == AT else t for t in txns]


def digest(txns: list[Txn]) -> list[Txn]:
    return [replace(t, digest=5) if t.zxid == AT else t for t in txns]


def twice(txns: list[Txn]) -> list[Txn]:
    return [u for t in txns for u in ([t, replace(t, cxid=77)] if t.zxid == AT else [t])]


def cut(txns: list[Txn]) -> list[Txn]:
    return [t for t in txns if t.zxid < AT]


def no_epochs(txns: list[Txn]) -> list[Txn]:
    return [replace(t, zxid=t.zxid & 0xFFFFFFFF) for t in txns if t.zxid >> 32 == 3]


CHANGES: tuple[Callable[[list[Txn]], list[Txn]], ...] = (lost, other, digest, twice, cut, no_epochs)


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_directories_with_every_transaction_end_in_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[list[Txn]], list[Txn]]
) -> None:
    """The transaction in question is damaged on one or two of three servers; each in a third of these ways."""
    monkeypatch.setattr(audits, "PAUSE", 0.0)  # nobody writes meanwhile
    for number, (name, (kind, body)) in list(enumerate(transactions().items()))[CHANGES.index(change) % 3 :: 3]:
        txns = [*TXNS, Txn(AT, kind, body, None), Txn(zxid(3, 8), *create("/after"))]
        damaged = change(txns)
        here = damaged if change is no_epochs else txns
        folders = ensemble(tmp_path / str(number), server(damaged), server([damaged, here][number % 2]), server(here))
        found = audit([find_directory([p], p.name) for p in folders], show_data=True, forecast=number % 7 == 0)
        assert found.verdict in VERDICTS, name
        list(rendered(Audited(found)))


def test_evidence_reads_as_a_person_would_say_it() -> None:
    assert in_words("nodes", [f"/q/{k}" for k in range(12)]) == [
        "nodes: /q/0, /q/1, /q/2, /q/3, /q/4, /q/5, /q/6, /q/7, /q/8, /q/9, 2 more"
    ]
    assert in_words("nodes", ["/q/0"]) == ["nodes: /q/0"]
    assert moment(1795884658696) == "2026-11-28 16:50:58.696 UTC"
    assert moment(1 << 62) == f"time {1 << 62} ms"
