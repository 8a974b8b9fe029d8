"""Findings of directories that no words describe (`test_audits.py` has the others): other records, and what changes
while it is read. The digests are computed by a tree of the tests' own."""

from __future__ import annotations

import gzip
import os
import re
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.zookeeper.directories import directory
from tests.zookeeper.healthy import TXNS, healthy, looked_at
from tests.zookeeper.written import (
    Txn,
    Written,
    acls,
    create,
    delete,
    digested,
    ensemble,
    failed_multi,
    framed,
    multi,
    server,
    set_data,
    snapshot_bytes,
    tree_of,
    ustring,
    zxid,
)
from traces.zookeeper.audit.audit import Audit, audit
from traces.zookeeper.audit.codes import CODES
from traces.zookeeper.audit.findings import GRAVE, NOTE, AuditFinding
from traces.zookeeper.audit.replay import replayed
from traces.zookeeper.disk.server import find_directory


def grave(found: Audit) -> list[AuditFinding]:
    return found.told(*GRAVE)


def notes(found: Audit) -> set[str]:
    return {f.code for f in found.findings if f.severity == NOTE}


# --- what is legitimate ------------------------------------------------------------------------------


def failed_multis(s: list[Written]) -> list[Written]:
    before = [*TXNS, Txn(zxid(3, 7), *failed_multi(False)), Txn(zxid(3, 8), *create("/z"))]
    after = [replace(t, body=failed_multi(True)[1]) if t.zxid == zxid(3, 7) else t for t in before]
    return [server(digested(x)) for x in (before, after, before)]


def other_settings(s: list[Written]) -> list[Written]:
    """closeSession with and without paths, digests on and off, create without the parent's version."""
    last = [Txn(zxid(3, 7), *create("/e", b"", True)), Txn(zxid(3, 8), -11, b"\0\0\0\1\0\0\0\2/e")]
    one = digested([*TXNS, *last])
    two = [replace(t, body=b"" if t.kind == -11 else t.body, digest=None) for t in one]
    three = [replace(t, body=b"") if t.kind == -11 else t for t in one]
    return [server(one), server(two), server(three)]


def create2(s: list[Written]) -> list[Written]:
    return [s[0], server([replace(t, kind=15) if t.kind == 1 else t for t in TXNS]), s[2]]


def packed_snapshots(s: list[Written]) -> list[Written]:
    data = snapshot_bytes(tree_of(TXNS[:16]), zxid(2, 2))
    s[0].raw[f"snapshot.{zxid(2, 2):x}.gz"] = gzip.compress(data)
    literal = b"".join(
        bytes([60 << 2, len(data[k : k + 256]) - 1]) + data[k : k + 256] for k in range(0, len(data), 256)
    )
    block = bytes([len(data) & 127 | 128, len(data) >> 7]) + literal
    s[1].raw[f"snapshot.{zxid(2, 2):x}.snappy"] = (
        b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, len(block)) + block
    )  # fmt: skip
    return s


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (failed_multis, {"FAILED_MULTI"}), (other_settings, {"ENCODING"}), (create2, {"ENCODING"}),
        (packed_snapshots, set()),
    ],
)  # fmt: skip
def test_what_is_legitimate_is_a_note(
    tmp_path: Path, kind: Callable[[list[Written]], list[Written]], told: set[str]
) -> None:
    found = looked_at(tmp_path, kind(healthy()))
    assert [(f.code, f.place, f.sentence) for f in grave(found)] == []
    assert told <= notes(found)


def test_a_snapshot_being_written_is_not_later_than_the_log(tmp_path: Path) -> None:
    """A server goes on while it writes one: what it deletes meanwhile is not in it, and leaves no trace there, where
    its parent was written before. That was told as another tree at the end of the log, which was read too early."""
    txns = digested([*TXNS, Txn(zxid(3, 7), *delete("/n3_6"))])
    servers = [server(txns), server(txns), server(txns[:-1])]
    name = txns[-2].zxid
    servers[2].snapshots[name] = snapshot_bytes(tree_of(txns[:-1]), None)[:200]
    folders = ensemble(tmp_path, *servers)
    own = folders[2] / "version-2"
    fuzzy = tree_of(txns[:-1])
    del fuzzy.nodes["/n3_6"]
    meanwhile = []

    def each(work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        done = [work(*a) for a in arguments]
        if not meanwhile and done:  # between the one kind of file and the other
            meanwhile.append(work)
            (own / f"snapshot.{name:x}").write_bytes(snapshot_bytes(fuzzy, None))
            log = own / f"log.{TXNS[0].zxid:x}"
            log.write_bytes(log.read_bytes().rstrip(b"\0") + txns[-1].record())
        return done

    found = audit([find_directory([p], p.name) for p in folders], each=each)
    assert len(meanwhile) == 1
    assert [(f.code, f.place, f.sentence) for f in grave(found)] == []
    after = audit([find_directory([p], p.name) for p in folders])
    assert grave(after) == []
    assert after.servers[2].top == zxid(3, 7)


def test_a_server_that_goes_on_while_it_is_read_is_no_danger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It wrote currentEpoch before what it was sent, and stores that while the others are read."""
    s = [healthy()[0], directory("1:1..2:6 current=3"), healthy()[2]]

    def pause(seconds: float) -> None:
        whole = server(TXNS).write(tmp_path / "later") / "version-2" / "log.100000001"
        (tmp_path / "server2" / "version-2" / "log.100000001").write_bytes(whole.read_bytes())

    monkeypatch.setattr("traces.zookeeper.audit.audit.time", SimpleNamespace(sleep=pause, time=time.time))
    found = looked_at(tmp_path, s)
    assert found.verdict == "OK", [(f.code, f.sentence) for f in grave(found)]


def test_a_purge_while_the_logs_are_replayed_is_no_hole(tmp_path: Path) -> None:
    """It removes the files in the folder's order: a log in between is gone when its records are to be applied, and one
    that a start would refuse when its header is looked at again."""
    servers = [server(TXNS, zxid(1, 9), zxid(2, 4), zxid(3, 1)) for _ in "123"]
    for s in servers:
        s.snapshots[zxid(3, 1)] = snapshot_bytes(tree_of([t for t in TXNS if t.zxid <= zxid(3, 1)]), zxid(3, 1))
    servers[0].raw["log.300000007"] = bytes(16)
    folders = ensemble(tmp_path, *servers)
    names = ("log.100000009", "log.300000007", "log.100000001", "snapshot.0")
    purged = [folders[0] / "version-2" / name for name in names]

    def each(work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        if work is replayed and purged[0].exists():
            for path in purged[:2]:
                path.unlink()
            done = [work(*a) for a in arguments]
            for path in purged[2:]:
                path.unlink()
            return done
        return [work(*a) for a in arguments]

    found = audit([find_directory([p], p.name) for p in folders], each=each)
    assert not purged[0].exists()
    assert [(f.code, f.sentence) for f in grave(found)] == []


# --- what is not -------------------------------------------------------------------------------------


def test_what_cannot_be_read_is_unknown_and_no_danger(tmp_path: Path) -> None:
    """Whatever the log of server1 has, its epoch files are right."""
    folders = ensemble(tmp_path, directory("current=3"), *healthy()[1:])
    os.mkfifo(folders[0] / "version-2" / "log.100000001")
    found = audit([find_directory([p], p.name) for p in folders])
    assert (found.verdict, [f.code for f in grave(found)]) == ("UNKNOWN", ["UNREADABLE"])


@pytest.mark.parametrize(("one", "two"), [("7", "7\n9"), ("7", "07")])
def test_two_directories_with_one_myid_are_not_ok(tmp_path: Path, one: str, two: str) -> None:
    for n, text in ((1, one), (3, two)):
        (tmp_path / f"server{n}").mkdir()
        (tmp_path / f"server{n}" / "myid").write_text(text)
    found = looked_at(tmp_path, healthy())
    assert [(f.code, f.servers) for f in grave(found)] == [("SAME_MYID", ["server1", "server3"])]


def test_trees_that_parted_name_the_nodes(tmp_path: Path) -> None:
    """A write of epoch 1 that came back on two servers; the leader of epoch 2 had it not."""
    came = "1:1..1:14 +1:15!7 2:1..3:6"
    (found,) = looked_at(tmp_path, [server(TXNS), directory(came), directory(came)]).told("VIOLATION", "DANGER")
    assert found.evidence["nodes"]["/own1_15"] == "on server2, server3; not on server1"


def test_a_change_of_the_membership_is_followed(tmp_path: Path) -> None:
    """From 2:2 on server 3 alone has weight: what it alone has logged is on a quorum."""
    text = b"server.1=a:1:2:observer;1\nserver.2=b:1:2:observer;1\nserver.3=c:1:2:participant;1\nversion=200000002"
    txns = [
        replace(t, kind=16, body=set_data("/zookeeper/config", text)[1]) if t.zxid == zxid(2, 2) else t for t in TXNS
    ]
    txns = digested([t for t in txns if not (t.kind == 5 and t.zxid > zxid(2, 2))][:16])
    tail = [Txn(zxid(2, 3 + n), *create(f"/tail{n}")) for n in range(2)]
    servers = [server(txns), server(txns), server([*txns, *tail])]
    for n, s in enumerate(servers, 1):
        s.raw["../myid"] = b"%d" % n
    found = looked_at(tmp_path, servers)
    assert grave(found) == []
    assert "UNCOMMITTED_TAIL" not in notes(found)
    assert {"CONFIG", "BEHIND"} <= notes(found)
    assert "as the record 2:2 of server1" in found.assumed["voters"]


def test_every_kind_of_transaction_is_replayed(tmp_path: Path) -> None:
    """A digest behind a multi, a delete, an ephemeral node and the end of its session, by the tests' own tree."""
    more = [
        Txn(zxid(3, 7), *multi(create("/m", b"1"), create("/m/a", b"2"), set_data("/m", b"3"), delete("/m/a"))),
        Txn(zxid(3, 8), *create("/e", b"", True)), Txn(zxid(3, 9), *create("/f", b"", True)),
        Txn(zxid(3, 10), *delete("/f")), Txn(zxid(3, 11), -11, b""), Txn(zxid(3, 12), *create("/g")),
    ]  # fmt: skip
    txns = digested([*TXNS, *more])
    found = looked_at(tmp_path, [server(txns)] * 3)
    assert grave(found) == []
    assert all(r.checked == len(txns) for r in found.replays.values())
    wrong = [replace(t, digest=(t.digest or 0) + 1) if t.zxid == zxid(3, 9) else t for t in txns]
    found = looked_at(tmp_path / "wrong", [server(wrong), server(txns), server(txns)])
    assert [(f.code, f.server, f.zxid) for f in grave(found)] == [("DIGEST_MISMATCH", "server1", zxid(3, 9))]


def test_a_loss_that_the_tree_no_longer_shows_is_unknown(tmp_path: Path) -> None:
    """What the hole lacks was written over before the snapshot: trees with it and without it are one."""
    txns = digested([*TXNS[:8], Txn(zxid(1, 9), *set_data("/n1_2", b"a", 1)),
                     Txn(zxid(2, 1), *set_data("/n1_2", b"b", 2)), *TXNS[24:]])  # fmt: skip
    logged = [t for t in txns if t.zxid != zxid(1, 9)]
    holed = server(logged, first=False)
    holed.snapshots[zxid(3, 1)] = snapshot_bytes(tree_of([t for t in logged if t.zxid <= zxid(3, 1)]), zxid(3, 1))
    found = looked_at(tmp_path, [server(txns), server(txns), holed])
    assert [(f.code, f.server) for f in grave(found)] == []
    assert [f.server for f in found.findings if f.code == "GAP_UNKNOWN"] == ["server3"]


def test_permissions_that_a_snapshot_lacks_are_a_lost_write(tmp_path: Path) -> None:
    """Before 3.6 no digest shows it; the version of the permissions does."""
    txns = [replace(t, digest=None) for t in TXNS]
    at = txns[16]
    txns[16] = replace(at, kind=7, body=ustring("/n1_2") + acls() + struct.pack(">i", 1))
    stale = server(txns)
    stale.snapshots[zxid(2, 8)] = snapshot_bytes(tree_of([t for t in txns[:22] if t.kind != 7]), None)
    found = looked_at(tmp_path, [server(txns), stale, server(txns)])
    assert (found.verdict, {f.code for f in grave(found)}) == ("VIOLATION", {"TREE_DIFFERS"})
    assert all("permissions: " in f.evidence["nodes"]["/n1_2"] for f in grave(found))


def test_every_code_that_is_given_has_its_row() -> None:
    given = set()
    for path in (Path(__file__).parents[2] / "traces" / "zookeeper").rglob("*.py"):
        given |= set(re.findall(r'(?:Finding|Damage|at_episode)\(\s*"([A-Z_]+)"', path.read_text()))
    assert given <= CODES.keys()
    assert len(given) > 30


def test_a_payload_may_be_as_large_as_it_is(tmp_path: Path) -> None:
    """Larger than the buffer that is read at once."""
    txns = digested([*TXNS, Txn(zxid(3, 7), *create("/large", bytes(3 << 20))), Txn(zxid(3, 8), *create("/small"))])
    found = looked_at(tmp_path, [server(txns)] * 2)
    assert {f.code for f in grave(found)} == {"WILL_NOT_START"}  # by default a start reads no record of that length
    assert all(x.option == "-Djute.maxbuffer=3145818" for x in found.starts)
    assert found.servers[0].logged == zxid(3, 8)
    directories = [s.directory for s in found.servers]
    assert grave(audit(directories, options={"jute.maxbuffer": "3145818"})) == []
    assert framed(b"x" * 40).endswith(b"B")
