"""What an epoch follows in a log whose snapshots of that time are purged: told by the next snapshot, or unknown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checker.zookeeper.report.audit import headline
from tests.zookeeper.healthy import TXNS, without
from tests.zookeeper.test_findings import looked_at
from tests.zookeeper.written import Txn, Written, digested, ensemble, server, set_data, snapshot_bytes, tree_of, zxid
from traces.zookeeper.audit.audit import audit
from traces.zookeeper.audit.findings import GRAVE
from traces.zookeeper.disk.server import find_directory

HOLE = without(TXNS, *(zxid(1, n) for n in range(9, 15)))
KEPT = zxid(3, 1)


def holed(tree_txns: list[Txn] | None, txns: list[Txn] = HOLE, old: bool = False, kept: int = KEPT) -> Written:
    """A server of which only one snapshot is left, of the tree of these transactions; None: no snapshot."""
    out = server(txns, first=False)
    if tree_txns is not None:
        tree = tree_of([t for t in tree_txns if t.zxid <= kept])
        out.snapshots[kept] = snapshot_bytes(tree, None if old else kept)
    return out


def three(kind: list[Txn] | None, count: int, old: bool = False) -> list[Written]:
    s = [*(server(TXNS) for _ in range(3 - count)), *(holed(kind, old=old) for _ in range(count))]
    for x in s if old else []:
        x.files = {z: [replace(t, digest=None) for t in txns] for z, txns in x.files.items()}
    return s


@pytest.mark.parametrize("old", [False, True], ids=["digests", "old"])
@pytest.mark.parametrize("count", [1, 2])
def test_what_a_purged_snapshot_brought_is_no_loss(tmp_path: Path, count: int, old: bool) -> None:
    found = looked_at(tmp_path, three(TXNS, count, old))
    assert [(f.code, f.server, f.sentence) for f in found.told(*GRAVE)] == []
    told = [f for f in found.findings if f.code == "GAP_UNKNOWN"]
    assert [(f.server, f.zxid, f.last) for f in told] == [
        (f"server{n}", zxid(1, 9), zxid(2, 0)) for n in range(4 - count, 4)
    ]
    assert found.verdict == "OK"
    assert all("snapshot.300000001 holds more than the log tells" in f.sentence for f in told)


@pytest.mark.parametrize("old", [False, True], ids=["digests", "old"])
@pytest.mark.parametrize("count", [1, 2])
def test_what_the_next_snapshot_lacks_is_lost(tmp_path: Path, count: int, old: bool) -> None:
    found = looked_at(tmp_path, three(HOLE, count, old))
    assert found.verdict == "VIOLATION"
    accused = {(f.code, f.server) for f in found.told("VIOLATION")}
    if count == 1:
        assert accused == {("MISSING", "server3")}
    elif old:  # two histories against one
        assert accused == {("ABANDONED_APPLIED", "server1")}
    else:
        assert accused == {("TREES_APART", "")}


@pytest.mark.parametrize("count", [1, 2])
def test_without_a_later_snapshot_it_is_unknown(tmp_path: Path, count: int) -> None:
    """Where two have no snapshot, no quorum serves either."""
    found = looked_at(tmp_path, three(None, count))
    assert found.data == "unknown"
    assert (found.verdict, found.code) == (("UNKNOWN", 3), ("DANGER", 1))[count - 1]
    assert "whether data is lost is unknown" in headline(found)
    assert not any(x.option for x in found.starts)
    assert [(f.code, f.server) for f in found.told("WARN")] == [
        ("GAP_UNKNOWN", f"server{n}") for n in range(4 - count, 4)
    ]


def test_one_server_alone_is_told_by_its_snapshot(tmp_path: Path) -> None:
    assert looked_at(tmp_path / "innocent", [holed(TXNS)]).verdict == "OK"
    found = looked_at(tmp_path / "guilty", [holed(HOLE)])
    assert [(f.code, f.zxid) for f in found.told("VIOLATION")] == [("DIGEST_MISMATCH", zxid(2, 1))]


@pytest.mark.parametrize("kind", [TXNS, HOLE], ids=["another", "the log's"])
def test_one_server_without_digests_accuses_itself_of_nothing(tmp_path: Path, kind: list[Txn]) -> None:
    found = looked_at(tmp_path, three(kind, 1, old=True)[2:])
    assert found.verdict == ("UNKNOWN" if kind is TXNS else "OK")
    told = [(f.code, f.zxid) for f in found.told(*GRAVE)]
    assert told == [("GAP_UNKNOWN", zxid(1, 9)), ("GAP_UNKNOWN", zxid(2, 11))][: (2 if kind is TXNS else 0)]


def test_an_audit_that_goes_on_says_the_same(tmp_path: Path) -> None:
    folders = ensemble(tmp_path, *three(TXNS, 1))
    directories = [find_directory([f], f.name) for f in folders]
    first = audit(directories, keep=True)
    later = audit(directories, before=first, keep=True)
    assert [(f.code, f.server, f.sentence) for f in later.findings] == [
        (f.code, f.server, f.sentence) for f in first.findings
    ]
    assert later.verdict == "OK"


def test_a_digest_accuses_where_the_other_log_ends_before(tmp_path: Path) -> None:
    found = looked_at(tmp_path, [server([t for t in TXNS if t.zxid <= zxid(2, 5)]), holed(HOLE)])
    assert ("MISSING", "server2") in {(f.code, f.server) for f in found.told("VIOLATION")}


def test_of_a_whole_log_nothing_is_unknown(tmp_path: Path) -> None:
    """Its snapshots are purged too, and there are no digests; but no other log has more."""
    s = [holed(TXNS, TXNS, old=True), *three(TXNS, 1, old=True)[2:]]
    s[0].files = {z: [replace(t, digest=None) for t in txns] for z, txns in s[0].files.items()}
    found = looked_at(tmp_path, s)
    assert [(f.code, f.server) for f in found.told(*GRAVE)] == []
    assert [f.server for f in found.findings if f.code == "GAP_UNKNOWN"] == ["server2"]


def test_a_snapshot_that_nothing_confirms_frees_nobody(tmp_path: Path) -> None:
    """It is of another tree than the log's and the digests', and no digest is behind it."""
    last = holed(without(TXNS, zxid(1, 12)), [t for t in HOLE if t.zxid <= KEPT])
    found = looked_at(tmp_path, [last])
    assert [(f.code, f.severity) for f in found.told(*GRAVE)] == [("GAP_UNKNOWN", "WARN")]
    assert found.verdict == "UNKNOWN"


@pytest.mark.parametrize("kept", [zxid(2, 1), KEPT])
def test_a_snapshot_with_other_damage_frees_nobody(tmp_path: Path, kept: int) -> None:
    """It holds more than the log, and still not what the digests behind it say."""
    found = looked_at(tmp_path, [server(TXNS), server(TXNS), holed(without(TXNS, zxid(1, 12)), kept=kept)])
    assert [(f.code, f.server) for f in found.told("VIOLATION")] == [("DIGEST_MISMATCH", "server3")]
    assert [f.severity for f in found.findings if f.code == "GAP_UNKNOWN"] == ["WARN"]


@pytest.mark.parametrize("kind", [TXNS, HOLE], ids=["innocent", "guilty"])
def test_a_log_that_begins_late_is_told_by_its_snapshot_alone(tmp_path: Path, kind: list[Txn]) -> None:
    found = looked_at(tmp_path, [server(TXNS), server(TXNS), holed(kind, HOLE[4:])])
    assert [(f.code, f.server) for f in found.told(*GRAVE)][:1] == ([("MISSING", "server3")] if kind is HOLE else [])
    told = [f.sentence for f in found.findings if f.code == "GAP_UNKNOWN"]
    assert ["is as digests or other servers say" in said for said in told] == ([True] if kind is TXNS else [])


@pytest.mark.parametrize("kind", [TXNS, HOLE], ids=["innocent", "guilty"])
def test_a_snapshot_may_hold_what_came_while_it_was_written(tmp_path: Path, kind: list[Txn]) -> None:
    s = holed(None)
    s.snapshots[KEPT] = snapshot_bytes(tree_of([t for t in kind if t.zxid <= zxid(3, 3)]), None)
    found = looked_at(tmp_path, [server(TXNS), server(TXNS), s])
    assert [(f.code, f.server) for f in found.told("VIOLATION")] == ([("MISSING", "server3")] if kind is HOLE else [])


def test_a_loss_that_the_tree_no_longer_shows_is_unknown(tmp_path: Path) -> None:
    """What the hole lacks was written over before the snapshot: trees with it and without it are one."""
    txns = digested([*TXNS[:8], Txn(zxid(1, 9), *set_data("/n1_2", b"a", 1)),
                     Txn(zxid(2, 1), *set_data("/n1_2", b"b", 2)), *TXNS[24:]])  # fmt: skip
    logged = [t for t in txns if t.zxid != zxid(1, 9)]
    found = looked_at(tmp_path, [server(txns), server(txns), holed(logged, logged)])
    assert [(f.code, f.server) for f in found.told(*GRAVE)] == []
    assert [f.server for f in found.findings if f.code == "GAP_UNKNOWN"] == ["server3"]
