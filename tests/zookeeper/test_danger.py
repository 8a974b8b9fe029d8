"""Directories to which an audit must not say OK although no promise is broken yet (issue 29, item 1), each kind with
siblings; and the healthy ones beside them."""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from checker.zookeeper.report.audit import headline
from tests.zookeeper.test_findings import TXNS, healthy, looked_at, notes
from tests.zookeeper.written import (
    Tree,
    Txn,
    Written,
    create,
    digested,
    ensemble,
    history,
    server,
    snapshot_bytes,
    tree_of,
    zxid,
)
from traces.zookeeper.audit.audit import audit
from traces.zookeeper.audit.codes import CODES
from traces.zookeeper.audit.findings import DANGER, GRAVE
from traces.zookeeper.disk.server import find_directory

OTHERS = history((1, 9), (2, 8), session=0x2000019E1660000)
CONFIG = "\n".join(f"server.{n}=host{n}:2888:3888" for n in (1, 2, 3))


def tail(count: int, epoch: int = 3, start: int = 7) -> list[Txn]:
    return [Txn(zxid(epoch, start + n), *create(f"/tail{epoch}_{n}")) for n in range(count)]


def aged(txns: list[Txn], current: int, accepted: int | None = None) -> Written:
    """A server whose epoch files are not those of its log."""
    out = server(txns)
    out.current, out.accepted = current, accepted
    return out


# --- a directory restored from an old backup, with newer epoch files ------------------------------------


def backup_of_an_earlier_epoch(s: list[Written]) -> list[Written]:
    return [aged(TXNS[:9], 3), s[1], s[2]]


def backup_of_the_epoch_before(s: list[Written]) -> list[Written]:
    return [s[0], aged(TXNS[:20], 3), s[2]]


def epoch_files_left_in_an_emptied_folder(s: list[Written]) -> list[Written]:
    return [s[0], s[1], Written({}, {0: snapshot_bytes(Tree(), 0)}, current=3)]


def backup_after_an_idle_election(s: list[Written]) -> list[Written]:
    """Nothing was proposed in epoch 4: what it began with is on the disks of those who joined it."""
    return [aged(TXNS, 4), aged(TXNS, 4), aged(TXNS[:-3], 4)]


def backup_beside_servers_that_were_purged(s: list[Written]) -> list[Written]:
    """What their logs held before epoch 3 is only in their snapshots."""
    out = [server(TXNS[24:], first=False) for _ in range(2)]
    for x in out:
        x.snapshots[zxid(2, 10)] = snapshot_bytes(tree_of(TXNS[:24]), zxid(2, 10))
    return [*out, aged(TXNS[:9], 3)]


# --- currentEpoch without that epoch's history (the mark of ZOOKEEPER-4643) -----------------------------


def epoch_before_its_transactions(s: list[Written]) -> list[Written]:
    """Killed behind currentEpoch: its DIFF never came to the disk; nobody else has joined the epoch."""
    return [aged(TXNS, 3), aged(TXNS, 3), aged(TXNS[:-2], 4)]


def epoch_before_its_transactions_and_one_joined(s: list[Written]) -> list[Written]:
    return [aged(TXNS[:14], 1), aged(TXNS[:14], 2), aged(TXNS[:11], 2)]


def epoch_before_its_transactions_of_five(s: list[Written]) -> list[Written]:
    return [*(aged(TXNS, 3) for _ in range(3)), aged(TXNS[:-1], 3), aged(TXNS[:-2], 5)]


# --- a server that has parted and looks merely behind -----------------------------------------------------


def parted_and_joined_the_next_epoch(s: list[Written]) -> list[Written]:
    return [s[0], s[1], aged([*TXNS[:14], *tail(2, 1, 15)], 2)]


def parted_and_joined_the_newest_epoch(s: list[Written]) -> list[Written]:
    return [aged([*TXNS[:24], *tail(1, 2, 11)], 3), s[1], s[2]]


def parted_in_an_epoch_of_its_own(s: list[Written]) -> list[Written]:
    """The others went from 1:e to 3:1."""
    txns = history((1, 14), (3, 6))
    return [server(txns), server(txns), aged([*TXNS[:14], *tail(2, 1, 15)], 3)]


# --- the last copy of what may have been acknowledged -----------------------------------------------------


def last_copy_beside_a_new_disk(s: list[Written]) -> list[Written]:
    return [server([*TXNS, *tail(3)]), s[1], Written({}, {0: snapshot_bytes(Tree(), 0)}, current=None)]


def last_copy_of_an_epoch(s: list[Written]) -> list[Written]:
    """Epoch 3 needed a quorum: who was in it says now that it was not."""
    return [server(TXNS), server(TXNS[:22]), server(TXNS[:20])]


def last_copy_below_a_snapshot(s: list[Written]) -> list[Written]:
    """A snapshot of the middle of an epoch: what it holds was applied."""
    s[0].snapshots[zxid(3, 4)] = snapshot_bytes(tree_of(TXNS[:-2]), zxid(3, 4))
    return [s[0], server(TXNS[:26]), server(TXNS[:25])]


KINDS: dict[Callable[[list[Written]], list[Written]], tuple[str, set[str]]] = {
    backup_of_an_earlier_epoch: ("EPOCH_AHEAD", {"server1"}),
    backup_of_the_epoch_before: ("EPOCH_AHEAD", {"server2"}),
    backup_beside_servers_that_were_purged: ("EPOCH_AHEAD", {"server3"}),
    epoch_files_left_in_an_emptied_folder: ("EPOCH_AHEAD", {"server3"}),
    backup_after_an_idle_election: ("EPOCH_AHEAD", {"server3"}),
    epoch_before_its_transactions: ("EPOCH_AHEAD", {"server3"}),
    epoch_before_its_transactions_and_one_joined: ("EPOCH_AHEAD", {"server3"}),
    epoch_before_its_transactions_of_five: ("EPOCH_AHEAD", {"server5"}),
    parted_and_joined_the_next_epoch: ("PARTED", {"server3"}),
    parted_and_joined_the_newest_epoch: ("PARTED", {"server1"}),
    parted_in_an_epoch_of_its_own: ("PARTED", {"server3"}),
    last_copy_beside_a_new_disk: ("LAST_COPY", {"server1"}),
    last_copy_of_an_epoch: ("SET_BACK", {"server2", "server3"}),
    last_copy_below_a_snapshot: ("LAST_COPY", {"server1"}),
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda f: f.__name__)
def test_what_a_disk_forgot_is_a_danger_and_not_ok(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Callable[[list[Written]], list[Written]]
) -> None:
    monkeypatch.setattr("traces.zookeeper.audit.audit.PAUSE", 0)
    found = looked_at(tmp_path, kind(healthy()))
    code, servers = KINDS[kind]
    said = [(f.code, f.place, f.sentence) for f in found.told(*GRAVE)]
    assert (found.verdict, found.code) == (DANGER, 1), said
    assert servers in [{f.server} if f.server else set(f.servers) for f in found.findings if f.code == code], said
    assert not found.told("VIOLATION"), said


def test_the_last_copy_names_who_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.zookeeper.audit.audit.PAUSE", 0)
    found = looked_at(tmp_path, last_copy_of_an_epoch(healthy()))
    last = [f for f in found.findings if f.code == "LAST_COPY"]
    assert [(f.server, f.zxid, f.last) for f in last] == [("server1", zxid(2, 9), zxid(3, 6))]


# --- what is legitimate beside them ---------------------------------------------------------------------------


def an_idle_election(s: list[Written]) -> list[Written]:
    return [aged(TXNS, 4, 5), aged(TXNS, 4), aged(TXNS, 3)]


def a_dead_leader_with_a_tail(s: list[Written]) -> list[Written]:
    return [server([*TXNS[:14], *tail(2, 1, 15)]), s[1], s[2]]


def far_behind(s: list[Written]) -> list[Written]:
    return [s[0], s[1], server(TXNS[:5])]


def a_tail_that_nobody_can_have_acknowledged(s: list[Written]) -> list[Written]:
    return [server([*TXNS, *tail(3)]), s[1], s[2]]


HARMLESS = (an_idle_election, a_dead_leader_with_a_tail, far_behind, a_tail_that_nobody_can_have_acknowledged)


@pytest.mark.parametrize("kind", HARMLESS, ids=lambda f: f.__name__)
def test_what_is_as_it_may_be_is_ok(tmp_path: Path, kind: Callable[[list[Written]], list[Written]]) -> None:
    found = looked_at(tmp_path, kind(healthy()))
    assert [(f.code, f.place, f.sentence) for f in found.told(*GRAVE)] == []


def test_a_dead_leaders_tail_is_told_as_one(tmp_path: Path) -> None:
    found = looked_at(tmp_path, a_dead_leader_with_a_tail(healthy()))
    assert "TAIL_APART" in notes(found)
    assert "BEHIND" not in notes(found)


def test_what_cannot_be_read_is_unknown_and_no_danger(tmp_path: Path) -> None:
    """Whatever the log of server1 has, its epoch files are right."""
    s = healthy()
    s[0] = Written({}, {0: snapshot_bytes(Tree(), 0)}, current=3)
    folders = ensemble(tmp_path, *s)
    os.mkfifo(folders[0] / "version-2" / "log.100000001")
    found = audit([find_directory([p], p.name) for p in folders])
    assert (found.verdict, [f.code for f in found.told(*GRAVE)]) == ("UNKNOWN", ["UNREADABLE"])


def test_an_observer_is_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its directory it would be a server that joined an epoch and lost what that began with."""
    monkeypatch.setattr("traces.zookeeper.audit.audit.PAUSE", 0)
    s = epoch_files_left_in_an_emptied_folder(healthy())
    found = looked_at(tmp_path, s, CONFIG.replace("host3:2888:3888", "host3:2888:3888:observer"))
    assert found.told(DANGER) == []


def test_a_server_of_weight_0_is_no_voter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ZooKeeper elects no such server, and counts no acknowledgement of it."""
    monkeypatch.setattr("traces.zookeeper.audit.audit.PAUSE", 0)
    servers = [*healthy(), aged(TXNS[:9], 3)]
    config = f"{CONFIG}\nserver.4=host4:2888:3888\ngroup.1=1:2:3:4\nweight.4="
    assert looked_at(tmp_path / "0", servers, f"{config}0").told(DANGER) == []
    assert [f.code for f in looked_at(tmp_path / "1", servers, f"{config}1").told(DANGER)] == ["EPOCH_AHEAD"]


def test_less_than_a_quorum_says_so(tmp_path: Path) -> None:
    """Two of five servers: whether others have what these have is not known, and the report is no plain OK."""
    config = CONFIG + "\nserver.4=host4:2888:3888\nserver.5=host5:2888:3888"
    for n, few in ((2, True), (3, False)):
        found = looked_at(tmp_path / str(n), healthy()[:n], config)
        assert found.verdict == "OK"
        assert ("in these directories, of less than a quorum, puts data in danger" in headline(found)) == few
        assert any("is on a quorum of disks: the 2 servers given are no quorum" in line for line in found.open) == few


def test_without_a_config_observers_may_explain_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.zookeeper.audit.audit.PAUSE", 0)
    found = looked_at(tmp_path, [*healthy(), *(server(TXNS[:20]) for _ in range(4))])
    assert {f.code for f in found.told(DANGER)} == {"LAST_COPY", "SET_BACK"}
    assert all("some of these 7 servers are observers (--config" in f.sentence for f in found.told(DANGER))


def test_a_server_that_was_not_given_may_have_the_second_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.zookeeper.audit.audit.PAUSE", 0)
    found = looked_at(tmp_path, [server([*TXNS, *tail(3)]), server(TXNS)], CONFIG)
    assert [(f.code, f.server) for f in found.told(*GRAVE)] == [("LAST_COPY", "server1")]


def test_a_server_that_goes_on_while_it_is_read_is_no_danger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It wrote currentEpoch before what it was sent, and stores that while the others are read."""
    s = backup_of_the_epoch_before(healthy())

    def pause(seconds: float) -> None:
        whole = server(TXNS).write(tmp_path / "later") / "version-2" / "log.100000001"
        (tmp_path / "server2" / "version-2" / "log.100000001").write_bytes(whole.read_bytes())

    monkeypatch.setattr("traces.zookeeper.audit.audit.time", SimpleNamespace(sleep=pause, time=time.time))
    found = looked_at(tmp_path, s)
    assert found.verdict == "OK", [(f.code, f.sentence) for f in found.told(*GRAVE)]


# --- what was given is not one ensemble ---------------------------------------------------------------------


@pytest.mark.parametrize(("one", "two"), [("7", "7"), ("7", "7\n9"), ("7", "07")])
def test_two_directories_with_one_myid_are_not_ok(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one: str, two: str
) -> None:
    monkeypatch.setattr("traces.zookeeper.audit.audit.PAUSE", 0)
    s = healthy()
    for n, text in ((1, one), (3, two)):
        (tmp_path / f"server{n}").mkdir()
        (tmp_path / f"server{n}" / "myid").write_text(text)
    found = looked_at(tmp_path, s)
    assert [(f.code, f.servers) for f in found.told(*GRAVE)] == [("SAME_MYID", ["server1", "server3"])]


def mixed_two_and_one(s: list[Written]) -> list[Written]:
    return [s[0], s[1], server(OTHERS)]


def mixed_one_and_one(s: list[Written]) -> list[Written]:
    return [server(OTHERS), s[1]]


def mixed_two_and_two(s: list[Written]) -> list[Written]:
    return [s[0], server(OTHERS), s[1], server(OTHERS, zxid(2, 3))]


def mixed_one_before_the_others(s: list[Written]) -> list[Written]:
    """No zxid is of both: one ensemble ended with 2:8, the other one began with epoch 3."""
    later = history((3, 9), (4, 4))
    return [server(later), server(later, zxid(4, 1)), server(OTHERS)]


MIXED = (mixed_two_and_one, mixed_one_and_one, mixed_two_and_two, mixed_one_before_the_others)


@pytest.mark.parametrize("kind", MIXED, ids=lambda f: f.__name__)
def test_two_ensembles_are_told_as_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Callable[[list[Written]], list[Written]]
) -> None:
    monkeypatch.setattr("traces.zookeeper.audit.audit.PAUSE", 0)
    found = looked_at(tmp_path, kind(healthy()))
    assert [f.code for f in found.told(*GRAVE)] == ["NOT_ONE_ENSEMBLE"]


def test_a_snapshot_alone_is_of_the_ensemble_that_sent_it(tmp_path: Path) -> None:
    """Servers that were sent a snapshot, and nothing since, have no transaction in common with logs: no other has."""
    last = TXNS[-1].zxid
    sent = [Written({}, {last: snapshot_bytes(tree_of(TXNS), last)}, current=3) for _ in range(2)]
    found = looked_at(tmp_path, [server(TXNS), *sent])
    assert [(f.code, f.sentence) for f in found.told(*GRAVE)] == []


def test_a_tail_before_anything_was_agreed_on_is_no_other_ensemble(tmp_path: Path) -> None:
    """The first leader proposed, and died; the others began with the next epoch."""
    later = history((2, 9), (3, 4))
    found = looked_at(tmp_path, [server(later), server(later), server(TXNS[:2])])
    assert found.told(*GRAVE) == []


def test_servers_that_parted_are_not_two_ensembles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they had before is the same."""
    monkeypatch.setattr("traces.zookeeper.audit.audit.PAUSE", 0)
    apart = digested([*TXNS[:14], *(Txn(t.zxid, *create(f"/x{t.zxid}")) for t in TXNS[14:])])
    found = looked_at(tmp_path, [server(TXNS), server(TXNS), server(apart)])
    assert {f.code for f in found.told(*GRAVE)} == {"DIVERGENT_TXN"}


# --- what must not be accused -------------------------------------------------------------------------------


def with_snapshot(txns: list[Txn], count: int, *cuts: int) -> Written:
    """A server that has taken a snapshot after so many of all transactions."""
    out = server(txns, *cuts)
    out.snapshots[TXNS[count - 1].zxid] = snapshot_bytes(tree_of(TXNS[:count]), TXNS[count - 1].zxid)
    return out


def deleted_to_the_second_epoch(s: list[Written]) -> list[Written]:
    return [with_snapshot(TXNS[14:], 22), s[1], s[2]]


def deleted_within_an_epoch(s: list[Written]) -> list[Written]:
    return [s[0], with_snapshot(TXNS[8:], 22, zxid(2, 4)), s[2]]


def deleted_on_a_majority(s: list[Written]) -> list[Written]:
    return [with_snapshot(TXNS[14:], 22), with_snapshot(TXNS[14:], 25), s[2]]


DELETED = [f for name, f in list(globals().items()) if name.startswith("deleted_")]


@pytest.mark.parametrize("kind", DELETED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("old", [False, True], ids=["digests", "old"])
def test_logs_deleted_below_a_snapshot_are_a_note(
    tmp_path: Path, kind: Callable[[list[Written]], list[Written]], old: bool
) -> None:
    s = kind(healthy())
    for x in s if old else []:
        x.files = {z: [replace(t, digest=None) for t in txns] for z, txns in x.files.items()}
    found = looked_at(tmp_path, s)
    assert [(f.code, f.place, f.sentence) for f in found.told(*GRAVE)] == []
    assert "LOGS_DELETED" in notes(found)


def test_a_hole_in_the_middle_says_that_no_start_reads_it(tmp_path: Path) -> None:
    """Nobody deletes a log between others: a file, or the end of one, is lost. But nothing of it is needed."""
    txns = [t for t in TXNS if not zxid(1, 9) <= t.zxid <= zxid(2, 4)]
    s = healthy()
    found = looked_at(tmp_path, [s[0], s[1], with_snapshot(txns, 22, zxid(2, 5))])
    assert [(f.code, f.server) for f in found.told(*GRAVE)] == [("GAP", "server3"), ("MISSING", "server3")]
    for f in found.told(*GRAVE):
        assert "a start begins behind it, with snapshot.200000008" in f.sentence
        assert "move its version-2 away" not in (f.advice or CODES[f.code].do)


def test_logs_deleted_below_a_snapshot_of_another_tree(tmp_path: Path) -> None:
    """As what is a note, but the snapshot was taken of a tree without what is missing."""
    s = healthy()
    s[2] = server(TXNS[18:], zxid(2, 5))
    kept = [t for t in TXNS[14:22] if t.kind != 5]
    s[2].snapshots[zxid(2, 8)] = snapshot_bytes(tree_of(kept), zxid(2, 8))
    found = looked_at(tmp_path, s)
    assert [(f.code, f.server) for f in found.told("VIOLATION")] == [("DIGEST_MISMATCH", "server3")]


@pytest.mark.parametrize(("name", "severe"), [(zxid(1, 1), False), (zxid(3, 1), True)])
def test_a_compressed_copy_of_a_log_is_no_broken_log(tmp_path: Path, name: int, severe: bool) -> None:
    s = healthy()
    s[1] = with_snapshot(TXNS, 22, zxid(2, 1), zxid(3, 1))
    s[1].raw[f"log.{name:x}.gz"] = gzip.compress(b"whatever it holds")
    found = looked_at(tmp_path, s)
    packed = [f.severity for f in found.findings if f.code == "PACKED_LOG"]
    assert packed == ["WARN" if severe else "NOTE"]
    assert [f.code for f in found.told(*GRAVE)] == ["PACKED_LOG"] * severe


def test_a_log_of_which_only_the_compressed_copy_is_left_is_no_gap(tmp_path: Path) -> None:
    s = healthy()
    s[1] = server(TXNS, zxid(1, 9), zxid(2, 5))
    s[1].raw[f"log.{zxid(1, 9):x}.xz"] = b"\xfd7zXZ\0"
    del s[1].files[zxid(1, 9)]
    found = looked_at(tmp_path, s)
    assert {f.code for f in found.told(*GRAVE)} == {"PACKED_LOG"}, [(f.code, f.sentence) for f in found.findings]


def test_digests_that_accuse_a_majority_accuse_nobody(tmp_path: Path) -> None:
    """A write of epoch 1 that came back on two servers; the leader of epoch 2 had it not."""
    came = [Txn(zxid(1, 15), *create("/back"), digest=7)]
    found = looked_at(tmp_path, [server(TXNS), *(server([*TXNS[:14], *came, *TXNS[14:]]) for _ in range(2))])
    grave = found.told("VIOLATION", DANGER)
    assert [(f.code, f.server, f.servers) for f in grave] == [("TREES_APART", "", ["server1", "server2", "server3"])]
    assert grave[0].evidence["nodes"]["/back"] == "on server2, server3; not on server1"


@pytest.mark.parametrize("holed", [0, 1])
@pytest.mark.parametrize("hole", [zxid(1, 5), zxid(2, 6)])
def test_a_hole_elsewhere_accuses_nobody_of_what_came_back(hole: int, holed: int, tmp_path: Path) -> None:
    """As above, and one of the three has a hole of its own: what is accused by digests is a majority all the same."""
    came = [Txn(zxid(1, 15), *create("/back"), digest=7)]
    logs = [TXNS, *([*TXNS[:14], *came, *TXNS[14:]] for _ in range(2))]
    logs[holed] = [t for t in logs[holed] if t.zxid != hole]
    found = looked_at(tmp_path, [server(txns) for txns in logs])
    accused = {(f.code, f.server) for f in found.told("VIOLATION", DANGER)}
    assert {("GAP", f"server{holed + 1}"), ("TREES_APART", "")} <= accused
    assert {name for _, name in accused} == {f"server{holed + 1}", ""}, accused


def test_nobody_is_to_wipe_one_of_a_majority(tmp_path: Path) -> None:
    """Two servers are damaged: with one of them moved away there is no quorum that holds everything."""
    one, two = (server([t for t in TXNS if t.zxid != zxid(2, n)]) for n in (3, 6))
    found = looked_at(tmp_path, [server(TXNS), one, two])
    advice = {f.advice or CODES[f.code].do for f in found.told(*GRAVE)}
    assert advice
    assert not [a for a in advice if "move its version-2 away" in a]
    assert any("Do not move away" in a for a in advice)


def test_one_of_three_may_be_synchronized_anew(tmp_path: Path) -> None:
    found = looked_at(tmp_path, [server(TXNS), server(TXNS), server([t for t in TXNS if t.zxid != zxid(2, 3)])])
    assert all("move its version-2 away" in (f.advice or CODES[f.code].do) for f in found.told(*GRAVE))


def test_a_range_that_is_lost_is_given_whole_and_first(tmp_path: Path) -> None:
    """From the middle of an epoch to that of the next; and causes come before what they cause."""
    found = looked_at(tmp_path, [server([t for t in TXNS if not zxid(1, 9) <= t.zxid <= zxid(2, 4)], zxid(2, 5)),
                                 server(TXNS), server(TXNS)])  # fmt: skip
    assert [(f.code, f.zxid, f.last) for f in found.told(*GRAVE)] == [
        ("GAP", zxid(2, 1), zxid(2, 4)),
        ("MISSING", zxid(1, 9), zxid(2, 4)),
    ]
