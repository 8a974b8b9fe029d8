"""Who votes comes from evidence: a zoo.cfg, /zookeeper/config in a snapshot, a record; what disagrees is named."""

from __future__ import annotations

import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.zookeeper.healthy import OLD, TXNS
from tests.zookeeper.written import (
    Tree,
    Txn,
    Written,
    digested,
    ensemble,
    server,
    set_data,
    snapshot_bytes,
    tree_of,
    ustring,
    zxid,
)
from traces.zookeeper.audit.audit import Audit, audit, numbers_of
from traces.zookeeper.audit.findings import NOTE
from traces.zookeeper.disk.server import Directory, find_directory
from zabspec.zoo_cfg import ZooCfg, parse

DATA = Path(__file__).parents[1] / "data" / "audit"
FIVE = "".join(f"server.{n}=127.0.0.1:2888:3888\n" for n in range(1, 6))
THREE = "".join(f"server.{n}=127.0.0.1:2888:3888:participant;0.0.0.0:2181\n" for n in (3, 4, 5))


def audited(folder: Path, names: tuple[int, ...], config: ZooCfg | None = None, forecast: bool = False) -> Audit:
    directories = [find_directory([folder / f"server{n}"], f"server{n}") for n in names]
    return audit(directories, config, release="3.9.5", forecast=forecast)


def purged(folder: Path) -> Path:
    """Voters 3, 4, 5 by a reconfiguration of which the record is purged."""
    with tarfile.open(DATA / "reconfig-record-purged.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def test_a_snapshot_says_who_votes_where_the_record_is_purged(tmp_path: Path) -> None:
    found = audited(purged(tmp_path), (1, 2, 3, 4, 5))
    assert found.assumed["voters"].startswith(
        "majorities of 3, participants 3, 4, 5, as /zookeeper/config of server3's snapshot."
    )
    assert (found.verdict, found.too_few) == ("OK", False)
    few = audited(tmp_path, (1, 2, 3))
    assert few.assumed["voters"].endswith(
        "of these 4, 5 were not given, and a forecast does not start them, "
        "and the servers' zoo.cfg has the same (--config)"
    )
    assert few.too_few


def test_a_file_that_differs_is_named_and_counts_at_the_next_start(tmp_path: Path) -> None:
    """A server of 3.9.5 counted by the file: with these five voters, 3 and 4 did not serve, and 3, 4 and 5 did."""
    found = audited(purged(tmp_path), (1, 2, 3, 4, 5), parse(FIVE.encode()), forecast=True)
    assert [f.code for f in found.findings if f.severity != NOTE] == ["CONFIG_DIFFERS"]
    assert found.assumed["voters"] == "majorities of 5, participants 1, 2, 3, 4, 5, as the zoo.cfg says"
    assert found.service.voters == [f"server{n}" for n in (1, 2, 3, 4, 5)]
    same = audited(tmp_path, (1, 2, 3, 4, 5), parse(THREE.encode()))
    assert same.verdict == "OK"
    dynamic = "standaloneEnabled=false\ndynamicConfigFile=zoo.cfg.dynamic.{}\n"
    late = parse(dynamic.format("300000000").encode(), dynamic=FIVE.encode())
    assert (
        audited(tmp_path, (1, 2, 3, 4, 5), late).assumed["voters"].startswith("majorities of 5")
    )  # later than the snapshot
    early = parse(dynamic.format("100000000").encode(), dynamic=FIVE.encode())
    assert audited(tmp_path, (1, 2, 3, 4, 5), early).verdict == "WARN"


def with_node(version: int, text: str) -> Written:
    tree = tree_of(TXNS)
    tree.nodes["/zookeeper/config"].data = f"{text}version={version:x}".encode()
    out = server(TXNS)
    out.snapshots[TXNS[-1].zxid] = snapshot_bytes(tree, TXNS[-1].zxid)
    return out


def test_a_record_that_is_later_than_a_snapshot_counts(tmp_path: Path) -> None:
    at = zxid(3, 2)
    text = b"server.1=a:1:2;1\nserver.2=b:1:2;1\nserver.3=c:1:2:observer;1\nversion=300000002"
    txns = [replace(t, kind=16, body=set_data("/zookeeper/config", text)[1]) if t.zxid == at else t for t in TXNS]
    servers = [with_node(zxid(1, 0), FIVE) for _ in "123"]
    for n, s in enumerate(servers, 1):
        s.files = {TXNS[0].zxid: digested(txns)}
        del s.snapshots[TXNS[-1].zxid]
        tree = tree_of(TXNS[:14])
        tree.nodes["/zookeeper/config"].data = f"{FIVE}version=100000000".encode()
        s.snapshots[TXNS[13].zxid] = snapshot_bytes(tree, TXNS[13].zxid)
        s.raw["../myid"] = f"{n}\n".encode()
    ensemble(tmp_path, *servers)
    found = audited(tmp_path, (1, 2, 3))
    assert found.assumed["voters"].startswith(
        "majorities of 2, participants 1, 2, as the record 3:2 of server1's log.100000001"
    )


def test_data_that_looks_like_the_membership_is_not_it(tmp_path: Path) -> None:
    """A node that holds a copy of a snapshot, before /zookeeper/config in the snapshots of its servers."""
    servers = [with_node(zxid(1, 0), FIVE) for _ in "12345"]
    for n, s in enumerate(servers, 1):
        tree = tree_of(TXNS)
        tree.nodes["/zookeeper/config"].data = f"{FIVE}version=100000000".encode()
        node = tree.nodes.pop("/n1_2")
        node.data = ustring("/zookeeper/config") + ustring(b"server.1=a:1:2;1\nversion=0")
        tree.nodes = {"": tree.nodes[""], "/n1_2": node, **tree.nodes}
        s.snapshots[TXNS[-1].zxid] = snapshot_bytes(tree, None)
        s.raw["../myid"] = f"{n}\n".encode()
    ensemble(tmp_path, *servers)
    voters = audited(tmp_path, (1, 2, 3, 4, 5)).assumed["voters"]
    assert voters.startswith("majorities of 5, participants 1, 2, 3, 4, 5, as /zookeeper/config")


def test_numbers_that_are_guessed_take_no_membership(tmp_path: Path) -> None:
    ensemble(tmp_path, *(with_node(zxid(1, 0), FIVE) for _ in "123"))
    assert "a directory has no myid" in audited(tmp_path, (1, 2, 3)).assumed["voters"]


def reconfigured(zxid: int, *voters: int) -> Txn:
    text = "".join(f"server.{n}=127.0.0.1:1:2:participant;3\n" for n in voters)
    return Txn(zxid, 16, set_data("/zookeeper/config", f"{text}version={zxid:x}".encode())[1])


def test_a_reconfiguration_that_no_leader_committed_does_not_count(tmp_path: Path) -> None:
    """Server 3 proposed to vote alone, and died: what it then has alone is on no quorum."""
    abandoned = [*TXNS[:14], reconfigured(zxid(1, 15), 3)]
    tail = server(abandoned)
    below = Written({TXNS[0].zxid: abandoned, zxid(2, 6): TXNS[19:]}, {0: snapshot_bytes(Tree(), 0)}, 3)
    below.snapshots[zxid(2, 5)] = snapshot_bytes(tree_of(TXNS[:19]), zxid(2, 5))
    for name, third, others, verdict in (
        ("tail", tail, TXNS, "OK"), ("below", below, TXNS, "OK"), ("alone", below, TXNS[:24], "DANGER"),
    ):  # fmt: skip
        ensemble(tmp_path / name, *(with_myid(n, s) for n, s in enumerate((server(others), server(others), third), 1)))
        found = audited(tmp_path / name, (1, 2, 3))
        assert (found.verdict, found.assumed["voters"]) == (
            verdict,
            "majorities of the 3 servers given; no other server votes, and none of them observes (--config)",
        ), name
        assert any("is not counted" in f.sentence for f in found.findings if f.code == "CONFIG")


@pytest.mark.parametrize("older", [False, True])
def test_an_older_snapshot_says_who_voted_before_a_change(older: bool, tmp_path: Path) -> None:
    """Two of three had 1:13 when it was lost; later there were five."""
    kept = [reconfigured(t.zxid, 1, 2, 3, 4, 5) if t.zxid == zxid(2, 5) else t for t in OLD if t not in OLD[12:14]]
    three, five = ("".join(f"server.{n}=a:1:2:participant;3\n" for n in range(1, 1 + m)) for m in (3, 5))
    servers = [server(kept) for _ in "12345"]
    for n, s in enumerate(servers, 1):
        if n < 3:
            s.files = {OLD[0].zxid: OLD[:14], zxid(2, 1): kept[12:]}
        for at, text in ((zxid(2, 0), f"{three}version=100000000"), (zxid(3, 4), f"{five}version=200000005")):
            if n > 2 and at == zxid(2, 0):
                continue  # these received no tree
            tree = tree_of([t for t in kept if t.zxid <= at])
            tree.nodes["/zookeeper/config"].data = text.encode() if older or at > zxid(2, 5) else b""
            s.snapshots[at] = snapshot_bytes(tree, None)
        with_myid(n, s)
    ensemble(tmp_path, *servers)
    found = audited(tmp_path, (1, 2, 3, 4, 5))
    assert [f.code for f in found.findings if f.severity != NOTE] == ["COMMITTED_LOST"] * older
    assert any(text.startswith("who voted before 2:5") for text in found.open) is not older


def test_a_server_that_is_behind_a_change_does_not_undo_it(tmp_path: Path) -> None:
    """Two of five are given, and one of them has the record: the three others may have it."""
    txns = digested([reconfigured(t.zxid, 1, 2, 3, 4, 5) if t.zxid == zxid(3, 6) else t for t in TXNS])
    ensemble(tmp_path, with_myid(1, server(txns)), with_myid(2, server(txns[:28])))
    found = audited(tmp_path, (1, 2))
    assert found.too_few
    assert found.assumed["voters"].startswith("majorities of 5")


def with_myid(number: int, server: Written) -> Written:
    server.raw["../myid"] = f"{number}\n".encode()
    return server


def test_numbers_that_are_guessed_take_no_record(tmp_path: Path) -> None:
    txns = digested([reconfigured(t.zxid, 11, 12, 13) if t.zxid == zxid(2, 3) else t for t in TXNS])
    ensemble(tmp_path, *(server(txns) for _ in "123"))
    found = audited(tmp_path, (1, 2, 3))
    assert (found.verdict, found.too_few) == ("OK", False)
    assert "lists voters 11, 12, 13, but a directory has no myid" in found.assumed["voters"]


@pytest.mark.parametrize(
    ("names", "numbers"),
    [("zk11 zk12", [11, 12]), ("a2024 b2024", [1, 2]), ("zk2 spare", [2, 1]), ("a b", [1, 2])],
)
def test_numbers_are_guessed_by_names_that_differ(names: str, numbers: list[int]) -> None:
    assert numbers_of([Directory(name, []) for name in names.split()]) == numbers
