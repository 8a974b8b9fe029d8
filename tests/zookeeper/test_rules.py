"""Each rule for names, places and limits, as official servers on both sides of it follow it."""

from __future__ import annotations

import gzip
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.zookeeper.directories import directory
from tests.zookeeper.healthy import OLD, TXNS
from tests.zookeeper.start_kinds import start_tree
from tests.zookeeper.written import (
    HEAD,
    Txn,
    acls,
    create,
    delete,
    empty_node,
    framed,
    multi,
    server,
    set_data,
    snapshot_bytes,
    tree_of,
    ustring,
    zxid,
)
from traces.zookeeper.audit.audit import audit
from traces.zookeeper.audit.findings import NOTE
from traces.zookeeper.audit.starting import REFUSES, STARTS, UNKNOWN, Start, start_of
from traces.zookeeper.disk.rules import rules_for, zxid_in
from traces.zookeeper.disk.server import find_directory
from traces.zookeeper.disk.trees import STATS
from zabspec.zoo_cfg import options_of, parse

OLD_RULES = rules_for("3.5.10").parts


@pytest.mark.parametrize(
    ("name", "before", "since"),
    [
        ("log.5", 5, 5), ("log.5.", 5, 5), ("log.5.bak", -1, 5), ("log.5.gz", -1, 5), ("log.+a", 10, 10),
        ("log..5", -1, -1), ("log.", -1, -1), ("log", -1, -1), ("log.x", -1, -1), ("xlog.5", -1, -1),
        ("log.8000000000000000", -1, -1), ("log.-5", -1, -1), ("log. 5", -1, -1), ("log.5_5", -1, -1),
    ],
)  # fmt: skip
def test_names_are_read_as_java_does(name: str, before: int, since: int) -> None:
    assert (zxid_in(name, "log", OLD_RULES), zxid_in(name, "log")) == (before, since)


@pytest.mark.parametrize(
    ("release", "options", "most"),
    [
        ("3.4.14", {}, 0xFFFFF + 1024), ("3.5.6", {}, 0xFFFFF + 1024), ("3.5.7", {}, 2 * 0xFFFFF),
        ("3.9.5", {"jute.maxbuffer": "4194304"}, 8388608), ("3.9.5", {"jute.maxbuffer": "0x400000"}, 8388608),
        ("3.9.5", {"zookeeper.jute.maxbuffer.extrasize": "10"}, 0xFFFFF + 1024),
        ("3.9.5", {"jute.maxbuffer": "010000000"}, 2 << 21), ("3.9.5", {"jute.maxbuffer": "4_194_304"}, 2 * 0xFFFFF),
        ("3.9.5", {"jute.maxbuffer": "4M"}, 2 * 0xFFFFF), ("3.9.5", {"jute.maxbuffer": "2000000000"}, 0x7FFFFFFF),
        ("3.9.2", {"jute.maxbuffer": "2000000000"}, 4_000_000_000 - (1 << 32)),
        ("3.9.5", {"zookeeper.jute.maxbuffer": "4194304"}, 2 * 0xFFFFF),
    ],
)  # fmt: skip
def test_lengths_are_limited_as_the_jvm_is_told(release: str, options: dict[str, str], most: int) -> None:
    assert rules_for(release, options).longest == most


def test_a_java_env_has_the_options_of_the_jvm() -> None:
    text = 'export JVMFLAGS="-Xmx4g -Djute.maxbuffer=4194304 -Dzookeeper.snapshot.trust.empty=true $JVMFLAGS"\n'
    assert options_of(text) == {"jute.maxbuffer": "4194304", "zookeeper.snapshot.trust.empty": "true"}


def started(folder: Path, release: str, **options: str) -> Start:
    return start_of(audit([find_directory([folder], "server1")], digests=False).servers[0], release, options)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("1", STARTS), ("1\n", STARTS), ("1\n9", STARTS), ("+1", STARTS), ("0" * 19 + "1", STARTS), ("1 ", REFUSES),
        (" 1", REFUSES), ("one", REFUSES), ("", REFUSES), ("9" * 20, REFUSES),
    ],
)  # fmt: skip
def test_myid_is_a_long_on_the_first_line(tmp_path: Path, text: str, outcome: str) -> None:
    folder = server(OLD).write(tmp_path / "server1")
    (folder / "myid").write_text(text)
    said = started(folder, "3.9.3")
    assert said.outcome == outcome
    assert outcome == STARTS or said.line.startswith("serverid ")


@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        ("log.100000001", bytes(8) + (1 << 21).to_bytes(4) + b"torn", "Unreasonable length"),
        ("log.100000001", bytes(8) + (1 << 20).to_bytes(4) + b"torn", ""),
        ("log.300000007", b"junk" * 3, "java.io.EOFException"),
        ("log.300000007", b"junk" * 4, "has invalid magic number"),
    ],
)
def test_a_start_that_comes_to_the_end_of_a_file(tmp_path: Path, name: str, data: bytes, line: str) -> None:
    """A record is unfinished, or a header: which line of its log ends a real start, if any."""
    folder = directory("all unpadded").write(tmp_path / "server1")
    with (folder / "version-2" / name).open("ab") as file:
        file.write(data)
    said = started(folder, "3.9.5")
    assert (said.outcome, said.line) == (REFUSES if line else STARTS, line)


@pytest.mark.parametrize(("kind", "cversion"), [(1, 7), (15, 1)])
def test_of_a_node_that_a_snapshot_has_only_a_plain_create_changes_the_parent(
    tmp_path: Path, kind: int, cversion: int
) -> None:
    """As before 3.6: a session closes, and another makes its node again while the snapshot is written."""
    made = server([Txn(zxid(1, 1), *create("/a", version=7, kind=kind))])
    made.snapshots[0] = snapshot_bytes(tree_of([Txn(zxid(1, 1), *create("/a"))]), None)
    folder = made.write(tmp_path / "server1")
    tree = start_tree(audit([find_directory([folder], "server1")]).servers[0], rules_for("3.5.10"))
    assert tree[""].stats[STATS.index("cversion")] == cversion


@pytest.mark.parametrize(("release", "outcome"), [("3.5.10", STARTS), ("3.6.0", REFUSES)])
def test_a_folder_named_as_a_log_stops_a_start_that_reads_it(tmp_path: Path, release: str, outcome: str) -> None:
    folder = server(OLD).write(tmp_path / "server1")
    (folder / "version-2" / f"log.{zxid(3, 7):x}.old").mkdir()
    assert started(folder, release).outcome == outcome
    (folder / "version-2" / f"log.{zxid(3, 7):x}").mkdir()
    assert started(folder, release).outcome == REFUSES


def test_a_plain_log_called_gz_is_read(tmp_path: Path) -> None:
    made = server(OLD[:20])
    made.current = 3
    rest = HEAD + b"".join(t.record() for t in OLD[20:])
    made.raw[f"log.{OLD[20].zxid:x}.gz"] = rest
    folder = made.write(tmp_path / "server1")
    assert started(folder, "3.9.3").zxid == OLD[-1].zxid
    assert started(folder, "3.5.10").zxid == OLD[19].zxid


PART = snapshot_bytes(tree_of(TXNS[:16]), TXNS[15].zxid)
LAST = PART + struct.pack(">q", TXNS[15].zxid)
LAST += struct.pack(">qi", zlib.adler32(LAST), 1) + b"/"
PACKED = gzip.compress(LAST)
XERIAL = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)


def snappy(data: bytes, length: int = 0) -> bytes:
    """As Xerial frames one block of literals; `length`: what it says of itself."""
    block = bytes([len(data) & 127 | 128, len(data) >> 7])
    block += b"".join(bytes([60 << 2, len(x) - 1]) + x for x in (data[k : k + 256] for k in range(0, len(data), 256)))
    return XERIAL + struct.pack(">I", length or len(block)) + block


@pytest.mark.parametrize(
    ("name", "data", "old", "new"),
    [
        ("gz", gzip.compress(PART), STARTS, STARTS), ("gz", PACKED, STARTS, STARTS),
        ("gz", gzip.compress(PART) + b"garbage", STARTS, STARTS), ("gz", PACKED + b"garbage" * 9, STARTS, STARTS),
        ("gz", PACKED[:-8] + bytes(8), STARTS, STARTS), ("gz", PACKED[:-4], STARTS, STARTS),
        ("gz", gzip.compress(PART)[:-8] + bytes(8), STARTS, REFUSES),
        ("gz", gzip.compress(PART)[:-99], REFUSES, REFUSES),
        ("snappy", snappy(PART), STARTS, STARTS), ("snappy", snappy(PART) + bytes(40), STARTS, REFUSES),
        ("snappy", snappy(PART) + b"\xff" * 40, STARTS, UNKNOWN),
        ("snappy", snappy(LAST) + b"\xff" * 40, STARTS, STARTS),
        ("snappy", snappy(PART, 1 << 30), UNKNOWN, UNKNOWN), ("snappy", snappy(PART, 1 << 31), UNKNOWN, UNKNOWN),
        ("snappy", XERIAL + b"\0\0\0\7\xff\xff\xff\xff\7ab", UNKNOWN, UNKNOWN),
        ("snappy", snappy(PART)[:-9], REFUSES, REFUSES),
    ],
)  # fmt: skip
def test_a_packed_snapshot_is_read_as_far_as_a_start_reads(
    name: str, data: bytes, old: str, new: str, tmp_path: Path
) -> None:
    """As 3.9.5 does with each; what is broken in Snappy's framing is an Error of Java, which ends a server."""
    made = server(TXNS)
    made.snapshots.clear()
    made.raw[f"snapshot.{TXNS[15].zxid:x}.{name}"] = data
    folder = made.write(tmp_path / "server1")
    assert [started(folder, release).outcome for release in ("3.8.6", "3.9.5")] == [old, new]


@pytest.mark.parametrize(
    ("between", "outcome", "zxid"),
    [
        (b"", STARTS, TXNS[-1].zxid), (bytes(12), STARTS, TXNS[19].zxid), (framed(b""), STARTS, TXNS[19].zxid),
        (framed(bytes(31)), STARTS, TXNS[19].zxid), (framed(TXNS[19].record())[:-1] + b"C", STARTS, TXNS[19].zxid),
        (struct.pack(">qi", 5, -1) + b"B", REFUSES, 0), (struct.pack(">qi", 5, -2) + b"B", REFUSES, 0),
    ],
)  # fmt: skip
def test_reading_may_end_between_two_transactions_that_follow_each_other(
    between: bytes, outcome: str, zxid: int, tmp_path: Path
) -> None:
    """As 3.9.5 does with each: nothing is missing, and yet a start reads no further in this file."""
    made = server(TXNS)
    made.files.clear()
    records = [b"".join(t.record() for t in some) for some in (TXNS[:20], TXNS[20:])]
    made.raw[f"log.{TXNS[0].zxid:x}"] = HEAD + records[0] + between + records[1] + bytes(4096)
    made.snapshots = {0: made.snapshots[0]}
    said = started(made.write(tmp_path / "server1"), "3.9.5")
    assert (said.outcome, said.zxid) == (outcome, zxid)


LISTS = struct.pack(">iq", 1, 1) + acls()


def odd_snapshot(*nodes: tuple[str | None, int], sessions: int = 0, lists: bytes = LISTS) -> bytes:
    """A snapshot of the root, /zookeeper, and nodes with the numbers of their permissions."""
    out = struct.pack(">iiqi", 0x5A4B534E, 2, -1, sessions) + lists
    for path, number in (("", 1), ("/zookeeper", 1), *nodes):
        out += ustring(path) + ustring(b"x") + struct.pack(">q", number) + empty_node().stored()
    out += ustring("/")
    return out + struct.pack(">q", zlib.adler32(out)) + ustring("/")


@pytest.mark.parametrize(
    ("data", "snapshot"),
    [
        (odd_snapshot(("/a", 1), ("/a/b", 1)), "read"), (odd_snapshot(("/a", -1), sessions=-1), "read"),
        (odd_snapshot(("/a/b", 1), ("/a", 1)), "older"), (odd_snapshot(("//a", 1)), "older"),
        (odd_snapshot(("a", 1)), "unknown"), (odd_snapshot((None, 1)), "unknown"),
        (odd_snapshot(("/a", 7)), "read"), (odd_snapshot(("/a", 1), ("/a", 1)), "unknown"),
        (odd_snapshot(lists=struct.pack(">i", -1)), "unknown"), (odd_snapshot(lists=struct.pack(">i", 0)), "unknown"),
        (odd_snapshot(lists=struct.pack(">iqi", 1, 1, -1)), "unknown"),
    ],
)  # fmt: skip
def test_a_snapshot_that_no_server_writes_is_read_as_a_start_does(data: bytes, snapshot: str, tmp_path: Path) -> None:
    """3.9.5 takes an older one if a node's parent is not before it; at a null it ends."""
    made = server(TXNS)
    made.snapshots = {0: made.snapshots[0], TXNS[15].zxid: data}
    said = started(made.write(tmp_path / "server1"), "3.9.5")
    names = {"snapshot.0": "older", f"snapshot.{TXNS[15].zxid:x}": "read"}
    assert (said.outcome if said.outcome == UNKNOWN else names[said.snapshot]) == snapshot


def test_a_node_of_a_fuzzy_snapshot_has_the_permissions_of_its_creation(tmp_path: Path) -> None:
    """They are listed before the nodes: of one that is created meanwhile they are not, and a server reads it."""
    made, rules = server([*TXNS, Txn(TXNS[-1].zxid + 1, *create("/a"))]), rules_for("3.9.5")
    acl = {}
    for name, snapshot in (("fuzzy", odd_snapshot(("/a", 7))), ("whole", odd_snapshot())):
        made.snapshots = {0: made.snapshots[0], TXNS[15].zxid: snapshot}
        read = audit([find_directory([made.write(tmp_path / name)], name)], digests=False).servers[0]
        acl[name] = start_tree(read, rules)["/a"].acl
    assert acl["fuzzy"] == acl["whole"] != 0
    made = server(TXNS)  # in which nothing creates it
    made.snapshots = {0: made.snapshots[0], TXNS[15].zxid: odd_snapshot(("/a", 7))}
    found = audit([find_directory([made.write(tmp_path / "never")], "never")]).findings
    assert [f.sentence for f in found if f.code == "SNAPSHOT_BROKEN"] == [
        "after a start 1 of its nodes have permissions that nothing lists"
    ]


@pytest.mark.parametrize(
    ("kind", "body", "outcome"),
    [
        (*create("/q"), STARTS), (*create("q"), UNKNOWN), (*create(""), UNKNOWN), (*delete("q"), UNKNOWN),
        (1, ustring(None) + create("")[1][4:], UNKNOWN), (*multi(), STARTS), (14, struct.pack(">i", -1), UNKNOWN),
        (*multi((99, b"")), UNKNOWN), (*multi(multi(create("/q"))), UNKNOWN), (*multi(create("q")), UNKNOWN),
        (99, b"", REFUSES),
    ],
)  # fmt: skip
def test_what_no_server_writes_is_not_said_to_be_read(kind: int, body: bytes, outcome: str, tmp_path: Path) -> None:
    """A server ends at a path without a slash and at a null list, and passes over a part of a multi of no kind."""
    made = server([*TXNS, Txn(TXNS[-1].zxid + 1, kind, body)])
    assert started(made.write(tmp_path / "server1"), "3.9.5").outcome == outcome


RECENT = {
    15: create("/q")[1], 16: set_data("/zookeeper/config", b"")[1], 19: create("/q")[1][:-5] + bytes(4),
    20: ustring("/n1_2"), 21: create("/q")[1][:-5] + bytes(11) + b"\1",
}  # fmt: skip


@pytest.mark.parametrize("kind", RECENT)
def test_3_4_reads_no_kind_that_is_newer(kind: int, tmp_path: Path) -> None:
    """So 3.4.14 and 3.5.10 did, also where the record is below the snapshot in the file that a start reads."""
    txns = [replace(t, kind=kind, body=RECENT[kind]) if t.zxid == OLD[2].zxid else t for t in OLD]
    made = server(txns)
    made.snapshots[OLD[9].zxid] = snapshot_bytes(tree_of(OLD[:10]), None)
    folder = made.write(tmp_path / "server1")
    assert [started(folder, release).outcome for release in ("3.4.14", "3.5.10")] == [REFUSES, STARTS]


def test_a_negative_epoch_is_quoted_as_java_writes_it(tmp_path: Path) -> None:
    made = server(TXNS)
    made.raw["currentEpoch"] = b"-1"
    assert "The current epoch, ffffffffffffffff, is older" in started(made.write(tmp_path / "server1"), "3.9.5").line


def test_two_logs_of_one_zxid_leave_it_open(tmp_path: Path) -> None:
    made = server(OLD)
    name = next(iter(made.files))
    made.raw[f"log.{name:x}.bak"] = HEAD + b"".join(t.record() for t in OLD[:9])
    assert started(made.write(tmp_path / "server1"), "3.9.3").outcome == UNKNOWN


def test_of_two_logs_with_one_zxid_below_the_snapshot_a_start_reads_one(tmp_path: Path) -> None:
    """A server of 3.5.6 starts beside an empty `log.N.`, or refuses it, as the folder's order has it."""
    made = server(OLD)
    made.raw[f"log.{max(made.files):x}."] = b""
    made.snapshots[OLD[-1].zxid] = snapshot_bytes(tree_of(OLD), None)
    assert started(made.write(tmp_path / "server1"), "3.5.6").outcome == UNKNOWN
    del made.snapshots[OLD[-1].zxid]  # now both are behind the snapshot, and both are read
    assert started(made.write(tmp_path / "server2"), "3.5.6").outcome == REFUSES


def test_a_data_directory_with_other_logs_beside_it_is_one(tmp_path: Path) -> None:
    """`log.txt` beside version-2 makes no version-2 of the folder."""
    folder = server(OLD).write(tmp_path / "server1")
    (folder / "log.txt").write_text("a text log")
    assert find_directory([folder], "server1").folders == [folder / "version-2"]


def test_a_snapshot_with_a_large_node_is_not_damaged(tmp_path: Path) -> None:
    large = Txn(OLD[-1].zxid + 1, *create("/large", bytes(3 << 20)))
    made = server(OLD)
    made.snapshots[large.zxid] = snapshot_bytes(tree_of([*OLD, large]), None)
    found = audit([find_directory([made.write(tmp_path / "server1")], "server1")], release="3.9.3")
    assert [(f.code, f.severity) for f in found.findings if f.severity != NOTE] == [("OTHER_OPTIONS", "DANGER")]
    assert found.starts[0].zxid == OLD[-1].zxid
    options = {"jute.maxbuffer": "4194304"}
    again = audit([s.directory for s in found.servers], release="3.9.3", options=options)
    assert again.starts[0].zxid == large.zxid


@pytest.mark.parametrize(("release", "config", "verdict"), [
    ("3.5.6", "snapshot.trust.empty=true", "DANGER"), ("3.5.7", "snapshot.trust.empty=true", "OK"),
    ("3.5.7", "zookeeper.snapshot.trust.empty=true", "DANGER"), ("3.4.14", "", "OK"),
])  # fmt: skip
def test_logs_without_snapshots_are_believed_as_the_release_does(
    tmp_path: Path, release: str, config: str, verdict: str
) -> None:
    """3.5.6 drops them, later releases replay them; a line of zoo.cfg counts, under the name that it has there."""
    folders = [server(OLD, first=False).write(tmp_path / f"server{n}") for n in (1, 2, 3)]
    lines = "\n".join([config, *(f"server.{n}=host{n}:2888:3888" for n in (1, 2, 3))])
    found = audit([find_directory([f], f.name) for f in folders], parse(lines.encode(), release), release=release)
    assert found.verdict == verdict
    forget = {f.server for f in found.findings if f.code == "START_FORGETS"}
    assert forget == ({"server1", "server2", "server3"} if release == "3.5.6" else set())


def test_an_old_disk_beside_purged_servers_is_no_danger(tmp_path: Path) -> None:
    """What it still has was deleted since, in logs that are purged: the quorum's tree goes on after its end."""
    gone = Txn(OLD[-1].zxid + 1, *delete("/n1_2"))
    later = [*OLD, gone, Txn(OLD[-1].zxid + 2, *create("/later"))]
    purged = []
    for _ in range(2):
        made = server(later[-1:], later[-1].zxid, first=False)
        made.snapshots[later[-1].zxid] = snapshot_bytes(tree_of(later), None)
        purged.append(made)
    folders = [s.write(tmp_path / f"server{n}") for n, s in enumerate((*purged, server(OLD[:20])), 1)]
    found = audit([find_directory([f], f.name) for f in folders], release="3.5.10")
    assert not [f.sentence for f in found.findings if f.code == "NODES_VANISH"]


def test_a_record_is_too_large_by_default(tmp_path: Path) -> None:
    large = Txn(OLD[-1].zxid + 1, *create("/large", bytes(3 << 20)))
    folder = server([*OLD, large]).write(tmp_path / "server1")
    assert started(folder, "3.9.3").line == "Unreasonable length"
    assert started(folder, "3.9.3", **{"jute.maxbuffer": "4194304"}).outcome == STARTS


def test_a_snapshot_need_be_right_as_far_as_a_start_reads_it(tmp_path: Path) -> None:
    """A release reads the sections that it knows; of a digest that is switched on or off it takes the other for it.

    Official servers of the five releases did so with a file of 3.9.5.
    """
    tree = tree_of(TXNS)
    digested = snapshot_bytes(tree, TXNS[-1].zxid)
    bare, last = digested[:-33], struct.pack(">q", TXNS[-1].zxid)
    whole, undigested = (b + last + struct.pack(">q", zlib.adler32(b + last)) + ustring("/") for b in (digested, bare))

    def flipped(at: int) -> bytes:
        return whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]

    end, five = len(whole), ("3.4.14", "3.5.10", "3.6.2", "3.8.4", "3.9.5")
    expected = {  # of those releases, which start; the option switches digests off
        "whole": (whole, "3.4.14 3.5.10 3.6.2 3.8.4 3.9.5"), "whole, off": (whole, "3.4.14 3.5.10 3.6.2 3.8.4"),
        "undigested": (undigested, "3.4.14 3.5.10"),
        "undigested, off": (undigested, "3.4.14 3.5.10 3.6.2 3.8.4 3.9.5"),
        "digest": (flipped(end - 54 + 19), "3.4.14 3.5.10"), "its seal": (flipped(end - 54 + 27), "3.4.14 3.5.10"),
        "the path behind it": (flipped(end - 54 + 32), "3.4.14 3.5.10 3.6.2 3.8.4"),
        "last zxid": (flipped(end - 14), "3.4.14 3.5.10 3.6.2 3.8.4"), "tree": (flipped(end - 54 - 6), ""),
    }  # fmt: skip
    for n, (name, (data, starting)) in enumerate(expected.items()):
        made = server([TXNS[-1]], first=False)
        made.snapshots[TXNS[-1].zxid] = data
        folder = made.write(tmp_path / f"{n}" / "server1")
        off = {"zookeeper.digest.enabled": "false"} if name.endswith("off") else {}
        start = [r for r in five if started(folder, r, **off).outcome == STARTS]
        assert (name, start) == (name, starting.split())
    found = audit([find_directory([tmp_path / "2" / "server1"], "server1")], release="3.9.5")
    assert [(f.code, f.severity) for f in found.findings if f.code == "OTHER_OPTIONS"] == [("OTHER_OPTIONS", "WARN")]
    old = audit([find_directory([tmp_path / "4" / "server1"], "server1")], release="3.5.10")
    assert not [f.code for f in old.findings if f.severity != NOTE]  # a wrong digest is not read


def test_a_time_to_live_of_3_5_3_is_one(tmp_path: Path) -> None:
    """3.5.3 marks its owner by the highest bit alone: a snapshot of it was taken for another tree than its log's.

    No session owns a node with a time to live, so its loss is a finding.
    """
    body = ustring("/ttl") + ustring("x") + acls() + struct.pack(">iq", -1, 30_000)
    made, later = Txn(OLD[-1].zxid + 1, 21, body, None), Txn(OLD[-1].zxid + 2, *create("/later"), digest=None)
    tree = tree_of(OLD)
    tree.nodes["/ttl"] = replace(empty_node(), data=b"x", czxid=made.zxid, mzxid=made.zxid, pzxid=made.zxid,
                                 ctime=made.time, mtime=made.time, owner=30_000 - (1 << 63))  # fmt: skip
    tree.nodes[""].cversion += 1
    tree.nodes[""].pzxid = made.zxid
    folders = []
    for n in (1, 2, 3):
        one = server([*OLD, made, later] if n > 1 else [*OLD, made])
        one.snapshots[made.zxid] = snapshot_bytes(tree, None)
        folders.append(find_directory([one.write(tmp_path / f"server{n}")], f"server{n}"))
    found = audit(folders, release="3.5.3")
    assert (found.verdict, [f.sentence for f in found.findings if f.severity != NOTE]) == ("OK", [])
    lacks = server([later], first=False)  # its tree is that of a server without the node, under the newest name
    lacks.snapshots[later.zxid] = snapshot_bytes(tree_of([*OLD, later]), None)
    lacks.current = later.zxid >> 32
    folders[2] = find_directory([lacks.write(tmp_path / "other")], "server3")
    told = [f for f in audit(folders, release="3.5.3").findings if f.code in ("NODES_VANISH", "TREE_DIFFERS")]
    assert any("/ttl" in f.evidence["nodes"] for f in told)
