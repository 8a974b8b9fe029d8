"""Ensembles written for the purpose: every damage is found on the right server, every oddity that is legitimate is a
note and no finding. The digests are computed by a tree of the tests' own."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.zookeeper.healthy import TXNS, healthy, missing_one, with_rest, without
from tests.zookeeper.written import (
    HEAD,
    Tree,
    Txn,
    Written,
    create,
    delete,
    digested,
    ensemble,
    failed_multi,
    framed,
    history,
    multi,
    server,
    set_data,
    snapshot_bytes,
    tree_of,
    zxid,
)
from traces.zookeeper.audit.audit import Audit, audit
from traces.zookeeper.audit.codes import CODES
from traces.zookeeper.audit.findings import NOTE, VIOLATION, AuditFinding
from traces.zookeeper.disk.server import find_directory
from zabspec.zoo_cfg import parse

OLD = history((1, 14), (2, 10), (3, 6), digests=False)


def looked_at(folder: Path, servers: list[Written], config: str | None = None) -> Audit:
    return audit([find_directory([p], p.name) for p in ensemble(folder, *servers)], config and parse(config.encode()))


def grave(found: Audit) -> list[AuditFinding]:
    return [f for f in found.findings if f.severity != NOTE]


def notes(found: Audit) -> set[str]:
    return {f.code for f in found.findings if f.severity == NOTE}


def bytes_of(txns: list[Txn]) -> bytes:
    data = HEAD + b"".join(t.record() for t in txns)
    return data + bytes(-len(data) % 4096)


def place_of(txns: list[Txn], z: int) -> int:
    return 16 + sum(len(t.record()) for t in txns if t.zxid < z)


def flipped(txns: list[Txn], z: int, at: int, bit: int = 1) -> dict[str, bytes]:
    data = bytearray(bytes_of(txns))
    data[place_of(txns, z) + at] ^= bit
    return {f"log.{txns[0].zxid:x}": bytes(data)}


# --- what is legitimate ------------------------------------------------------------------------------


def trap_failed_multis(s: list[Written]) -> list[Written]:
    before = [*TXNS, Txn(zxid(3, 7), *failed_multi(False)), Txn(zxid(3, 8), *create("/z"))]
    after = [replace(t, body=failed_multi(True)[1]) if t.zxid == zxid(3, 7) else t for t in before]
    return [server(digested(x)) for x in (before, after, before)]


def trap_snap(s: list[Written]) -> list[Written]:
    txns = [t for t in TXNS if t.zxid <= zxid(1, 6) or t.zxid >= zxid(2, 6)]
    s[1] = server(txns, zxid(2, 6))
    s[1].snapshots[zxid(2, 5)] = snapshot_bytes(tree_of(TXNS[:19]), 0)
    return s


def trap_snap_inside_a_file(s: list[Written]) -> list[Written]:
    s = trap_snap(s)
    s[1].files = {zxid(1, 1): [t for f in s[1].files.values() for t in f]}
    return s


def trap_abandoned(s: list[Written]) -> list[Written]:
    """An old leader's proposals stay in its log, below the snapshot of a SNAP."""
    left = [Txn(zxid(1, 15 + n), *create(f"/lost{n}")) for n in range(3)]
    s[2] = server([*TXNS[:14], *left, *(t for t in TXNS if t.zxid >= zxid(2, 6))], zxid(2, 6))
    s[2].snapshots[zxid(2, 5)] = snapshot_bytes(tree_of(TXNS[:19]), 0)
    return s


def trap_abandoned_at_an_epoch(s: list[Written]) -> list[Written]:
    """The same without a gap in numbers: the snapshot is that of the epoch's beginning."""
    left = [Txn(zxid(1, 15 + n), *create(f"/lost{n}")) for n in range(3)]
    s[2] = server([*TXNS[:14], *left, *TXNS[14:]], zxid(2, 1))
    s[2].snapshots[zxid(2, 0)] = snapshot_bytes(tree_of(TXNS[:14]), 0)
    return s


def trap_twice(s: list[Written]) -> list[Written]:
    again = [*TXNS[:14], *TXNS[10:14], *TXNS[14:]]
    s[1] = Written({zxid(1, 1): again[:14], zxid(1, 11): again[14:]}, {0: snapshot_bytes(Tree(), 0)}, current=3)
    return s


def trap_twice_inside_a_file(s: list[Written]) -> list[Written]:
    s[1].files = {zxid(1, 1): [*TXNS[:14], *TXNS[10:14], *TXNS[14:]]}
    return s


def trap_tail(s: list[Written]) -> list[Written]:
    s[0] = server([*TXNS, *[Txn(zxid(3, 7 + n), *create(f"/tail{n}")) for n in range(4)]])
    s[1] = server(TXNS[:-2])
    return s


def trap_epochs_ahead(s: list[Written]) -> list[Written]:
    s[0].current, s[0].accepted, s[1].accepted = 7, 9, 8
    return s


def trap_truncated(s: list[Written]) -> list[Written]:
    s[0].padding = 0
    return s


def trap_torn_snapshot(s: list[Written]) -> list[Written]:
    s[1].snapshots[zxid(2, 3)] = snapshot_bytes(tree_of(TXNS[:17]), zxid(2, 3))[:200]
    return s


def trap_fuzzy_snapshot(s: list[Written]) -> list[Written]:
    """Some nodes are later than the name says."""
    tree, later = tree_of(TXNS[:17]), tree_of(TXNS[:20])
    tree.nodes |= {p: later.nodes[p] for p in ("/n2_6", "/n2_4") if p in later.nodes}
    tree.nodes[""] = later.nodes[""]
    s[1].snapshots[zxid(2, 3)] = snapshot_bytes(tree, None).replace(b"", b"")
    data = snapshot_bytes(tree, None)
    data += struct.pack(">qiQ", zxid(2, 6), 2, tree_of(TXNS[:20]).digest())
    s[1].snapshots[zxid(2, 3)] = data + struct.pack(">q", zlib.adler32(data)) + b"\0\0\0\1/"
    return s


def trap_torn_record_and_again(s: list[Written]) -> list[Written]:
    """Torn at the end of a file that is not the last; the next file has the record whole."""
    first, rest = TXNS[:12], TXNS[12:]
    data = HEAD + b"".join(t.record() for t in first) + rest[0].record()[:50]
    s[1] = Written({rest[0].zxid: rest}, {0: snapshot_bytes(Tree(), 0)}, current=3)
    s[1].raw[f"log.{zxid(1, 1):x}"] = data + bytes(2000)
    return s


def trap_torn_without_padding(s: list[Written]) -> list[Written]:
    s[1] = server([])
    s[1].current, s[1].raw[f"log.{zxid(1, 1):x}"] = 3, (HEAD + b"".join(t.record() for t in TXNS))[:-9]
    return s


def trap_empty_last_files(s: list[Written]) -> list[Written]:
    s[0].raw[f"log.{zxid(3, 7):x}"] = b""
    s[1].raw[f"log.{zxid(3, 7):x}"] = HEAD + bytes(4080)
    s[2].raw[f"log.{zxid(3, 7):x}"] = HEAD[:7]
    return s


def trap_purged(s: list[Written]) -> list[Written]:
    s[0] = server(TXNS[8:], zxid(2, 1), first=False)
    s[0].snapshots[zxid(2, 2)] = snapshot_bytes(tree_of(TXNS[:16]), zxid(2, 2))
    return s


def trap_purged_with_an_old_gap(s: list[Written]) -> list[Written]:
    """A SNAP whose snapshot has been purged since."""
    s[0] = server([*TXNS[4:8], *TXNS[12:]], first=False)
    s[0].snapshots[zxid(2, 2)] = snapshot_bytes(tree_of(TXNS[:16]), zxid(2, 2))
    return s


def trap_purged_behind_a_dead_tail(s: list[Written]) -> list[Written]:
    """A SNAP in the place of a tail that nobody else has, whose snapshot has been purged since."""
    tail = history((1, 17), (2, 10), (3, 6))[14:17]
    s[0] = server([*TXNS[:14], *tail, *TXNS[16:]], first=False)
    s[0].snapshots[zxid(2, 6)] = snapshot_bytes(tree_of(TXNS[:20]), zxid(2, 6))
    return s


def trap_new_disk(s: list[Written]) -> list[Written]:
    s[2] = Written({}, {0: snapshot_bytes(Tree(), 0)}, current=None)
    return s


def trap_nothing_at_all(s: list[Written]) -> list[Written]:
    s[2] = Written({}, {}, current=None)
    return s


def trap_just_synchronized(s: list[Written]) -> list[Written]:
    """A SNAP, and nothing after it."""
    s[2] = server(TXNS[:5])
    s[2].current = 3
    s[2].snapshots[zxid(3, 6)] = snapshot_bytes(tree_of(TXNS), 0)
    return s


def trap_lost_file_at_an_epoch(s: list[Written]) -> list[Written]:
    s[0] = server([t for t in TXNS if t.zxid >> 32 != 2], zxid(3, 1))
    s[0].snapshots[zxid(2, 10)] = snapshot_bytes(tree_of(TXNS[:24]), zxid(2, 10))
    return s


def trap_other_settings(s: list[Written]) -> list[Written]:
    """closeSession with and without paths, digests on and off, create without the parent's version."""
    last = [Txn(zxid(3, 7), *create("/e", b"", True)), Txn(zxid(3, 8), -11, b"\0\0\0\1\0\0\0\2/e")]
    one = digested([*TXNS, *last])
    two = [replace(t, body=b"" if t.kind == -11 else t.body, digest=None) for t in one]
    three = [replace(t, body=b"") if t.kind == -11 else t for t in one]
    return [server(one), server(two), server(three)]


def trap_create2(s: list[Written]) -> list[Written]:
    s[1] = server([replace(t, kind=15) if t.kind == 1 else t for t in TXNS])
    return s


def trap_before_3_6(s: list[Written]) -> list[Written]:
    s = healthy(OLD)
    for x in s:
        x.snapshots = {0: snapshot_bytes(Tree(), None), zxid(2, 1): snapshot_bytes(tree_of(OLD[:15]), None)}
    return s


def trap_packed_snapshots(s: list[Written]) -> list[Written]:
    data = snapshot_bytes(tree_of(TXNS[:16]), zxid(2, 2))
    s[0].raw[f"snapshot.{zxid(2, 2):x}.gz"] = gzip.compress(data)
    literal = b"".join(
        bytes([60 << 2, len(data[k : k + 256]) - 1]) + data[k : k + 256] for k in range(0, len(data), 256)
    )
    size = bytes([len(data) & 127 | 128, len(data) >> 7])
    block = size + literal
    s[1].raw[f"snapshot.{zxid(2, 2):x}.snappy"] = (
        b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, len(block)) + block
    )  # fmt: skip
    return s


def trap_stray_files(s: list[Written]) -> list[Written]:
    s[0].raw |= {"log.5.fixed~": b"", "README": b"x", "snapshot.tmp": b"", "currentEpoch.tmp": b"3", "log.xyz": b"?"}
    return s


def trap_snapshotless(s: list[Written]) -> list[Written]:
    for x in s:
        x.snapshots = {}
    return s


def trap_leader_snapshot(s: list[Written]) -> list[Written]:
    """snapshot.<e>00000000, written by a leader that starts."""
    s[0].snapshots[zxid(2, 0)] = snapshot_bytes(tree_of(TXNS[:14]), 0)
    s[1].snapshots[zxid(1, 14)] = snapshot_bytes(tree_of(TXNS[:14]), zxid(1, 14))
    return s


TRAPS = [f for name, f in list(globals().items()) if name.startswith("trap_")]
TOLD = {
    "trap_failed_multis": "FAILED_MULTI", "trap_snap": "SNAP_BRIDGED", "trap_snap_inside_a_file": "SNAP_BRIDGED",
    "trap_abandoned": "ABANDONED", "trap_abandoned_at_an_epoch": "ABANDONED", "trap_twice": "DUP_ZXID",
    "trap_twice_inside_a_file": "DUP_ZXID", "trap_tail": "UNCOMMITTED_TAIL", "trap_torn_snapshot": "TORN_SNAPSHOT",
    "trap_torn_record_and_again": "TORN_TAIL", "trap_torn_without_padding": "TORN_TAIL",
    "trap_empty_last_files": "EMPTY_LOG",
    "trap_purged": "PURGED", "trap_purged_with_an_old_gap": "GAP_UNKNOWN",
    "trap_purged_behind_a_dead_tail": "ABANDONED", "trap_new_disk": "EMPTY_SERVER",
    "trap_nothing_at_all": "EMPTY_SERVER", "trap_lost_file_at_an_epoch": "SNAP_BRIDGED",
    "trap_other_settings": "ENCODING",
    "trap_create2": "ENCODING", "trap_before_3_6": "NO_DIGESTS", "trap_stray_files": "STRAY_FILE",
    "trap_snapshotless": "NO_SNAPSHOTS",
}  # fmt: skip


# Servers that no release starts from such files, which are of 3.6 or later: real ones were started.
ENDING = {"trap_snapshotless": ["server1", "server2", "server3"], "trap_empty_last_files": ["server3"],
          "trap_stray_files": ["server1"]}  # fmt: skip


@pytest.mark.parametrize("trap", TRAPS, ids=lambda f: f.__name__)
def test_what_is_legitimate_is_a_note(tmp_path: Path, trap: Callable[[list[Written]], list[Written]]) -> None:
    found = looked_at(tmp_path, trap(healthy()))
    ending = ENDING.get(trap.__name__, [])
    assert [f.server for f in grave(found) if f.code == "WILL_NOT_START"] == ending
    assert [(f.code, f.place, f.sentence) for f in grave(found) if f.code != "WILL_NOT_START"] == []
    assert found.code == (len(ending) > 1)
    if trap.__name__ in TOLD:
        assert TOLD[trap.__name__] in notes(found)


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


# --- what is not -------------------------------------------------------------------------------------


def bad_crc_field(s: list[Written]) -> Written:
    return Written(raw=flipped(TXNS, zxid(2, 3), 6))


def bad_body_byte(s: list[Written]) -> Written:
    return Written(raw=flipped(TXNS, zxid(2, 3), 60))


def bad_zxid_bit(s: list[Written]) -> Written:
    return Written(raw=flipped(TXNS, zxid(2, 3), 12 + 12 + 7, 64))


def bad_mark(s: list[Written]) -> Written:
    return Written(raw=flipped(TXNS, zxid(2, 3), len(TXNS[16].record()) - 1))


def bad_length(s: list[Written]) -> Written:
    return Written(raw=flipped(TXNS, zxid(2, 3), 11))


def bad_length_past_the_end(s: list[Written]) -> Written:
    return Written(raw=flipped(TXNS, zxid(2, 3), 10, 64))


def bad_length_of_the_last(s: list[Written]) -> Written:
    return Written(raw=flipped(TXNS, zxid(3, 6), 11, 64))


def bad_version(s: list[Written]) -> Written:
    return Written(raw={f"log.{zxid(1, 1):x}": HEAD[:7] + b"\3" + bytes_of(TXNS)[8:]})


def bad_padding(s: list[Written]) -> Written:
    data = bytearray(bytes_of(TXNS))
    data[-50:-40] = b"not zeros!"
    return Written(raw={f"log.{zxid(1, 1):x}": bytes(data)})


def bad_length_negative(s: list[Written]) -> Written:
    return Written(raw=flipped(TXNS, zxid(2, 3), 8, 128))


def bad_length_zero(s: list[Written]) -> Written:
    data = bytearray(bytes_of(TXNS))
    at = place_of(TXNS, zxid(2, 3))
    data[at + 8 : at + 12] = bytes(4)
    return Written(raw={f"log.{zxid(1, 1):x}": bytes(data)})


def bad_magic(s: list[Written]) -> Written:
    return Written(raw={f"log.{zxid(1, 1):x}": b"ZKLH" + bytes_of(TXNS)[4:]})


def bad_kind(s: list[Written]) -> Written:
    return server([replace(t, body=b"\0\0\0\xff") if t.zxid == zxid(2, 3) else t for t in TXNS])


def missing_first_of_an_epoch(s: list[Written]) -> Written:
    return server(without(TXNS, zxid(2, 1)))


def missing_a_file(s: list[Written]) -> Written:
    return server([t for t in TXNS if not zxid(1, 9) <= t.zxid <= zxid(2, 4)], zxid(2, 5))


def missing_at_the_start(s: list[Written]) -> Written:
    return server(TXNS[6:])


def missing_an_epoch(s: list[Written]) -> Written:
    return server([t for t in TXNS if t.zxid >> 32 != 2])


def lost_end_of_an_epoch(s: list[Written]) -> Written:
    return server(without(TXNS, zxid(2, 9), zxid(2, 10)))


def swapped(s: list[Written]) -> Written:
    txns = list(TXNS)
    txns[16], txns[17] = txns[17], txns[16]
    return server(txns)


def altered(s: list[Written]) -> Written:
    return server([replace(t, body=t.body.replace(b"data 6", b"date 6")) if t.zxid == zxid(2, 6) else t for t in TXNS])


def altered_session(s: list[Written]) -> Written:
    return server([replace(t, session=t.session + 1) if t.zxid == zxid(2, 6) else t for t in TXNS])


def twice_differently(s: list[Written]) -> Written:
    other = replace(TXNS[13], body=create("/other")[1])
    return Written({zxid(1, 1): TXNS[:14], zxid(1, 14): [other, *TXNS[14:]]}, {0: snapshot_bytes(Tree(), 0)}, current=3)


def zombie(s: list[Written]) -> Written:
    left = [Txn(zxid(1, 15 + n), *create(f"/lost{n}"), digest=1) for n in range(2)]
    tree = tree_of(TXNS[:14])
    for n, t in enumerate(left):
        tree.apply(t.zxid, t.time, t.kind, t.body, t.session)
        left[n] = replace(t, digest=tree.digest())
    return server([*TXNS[:14], *left, *TXNS[14:]])


def behind_epoch(s: list[Written]) -> Written:
    out = server(TXNS)
    out.current = 2
    return out


def behind_accepted(s: list[Written]) -> Written:
    out = server(TXNS)
    out.accepted = 2
    return out


def no_epoch(s: list[Written]) -> Written:
    out = server(TXNS)
    out.raw["currentEpoch"] = b"three"
    return out


def no_later_epoch(s: list[Written]) -> Written:
    """The epoch behind it shifts out of a zxid, so that what is written has the zxids of epoch 0."""
    out = server(TXNS)
    out.raw["acceptedEpoch"] = b"4294967295"
    return out


def broken_snapshot(s: list[Written]) -> Written:
    out = server(TXNS)
    data = bytearray(snapshot_bytes(tree_of(TXNS[:16]), zxid(2, 2)))
    data[300] ^= 4
    out.snapshots[zxid(2, 2)] = bytes(data)
    return out


def forged_snapshot(s: list[Written]) -> Written:
    """Checksums right, and a node that is not in the log."""
    out, tree = server(TXNS), tree_of(TXNS[:16])
    tree.apply(zxid(1, 20), 5, *create("/forged"), 1)
    data = snapshot_bytes(tree, None)
    data += struct.pack(">qiQ", zxid(2, 2), 2, tree_of(TXNS[:16]).digest())
    out.snapshots[zxid(2, 2)] = data + struct.pack(">q", zlib.adler32(data)) + b"\0\0\0\1/"
    return out


def polluted_snapshot(s: list[Written]) -> Written:
    """The mark of ZOOKEEPER-4837: a transaction that was cut from the log lives on in the newest snapshot."""
    out, tree = server(TXNS), tree_of(TXNS[:27])
    tree.apply(zxid(2, 11), 5, *create("/cut"), 1)
    out.snapshots[zxid(3, 3)] = snapshot_bytes(tree, zxid(3, 3))
    return out


def lost_bridge(s: list[Written]) -> Written:
    """The mark of ZOOKEEPER-2872: the snapshot of a SNAP never reached the disk."""
    out = server([t for t in TXNS if t.zxid <= zxid(1, 6) or t.zxid >= zxid(2, 6)], zxid(2, 6))
    out.snapshots[zxid(2, 5)] = snapshot_bytes(tree_of(TXNS[:19]), 0)[:150]
    return out


BAD: dict[Callable[[list[Written]], Written], tuple[str, int, int]] = {
    bad_crc_field: ("CRC", zxid(2, 3), place_of(TXNS, zxid(2, 3))),
    bad_body_byte: ("CRC", zxid(2, 3), place_of(TXNS, zxid(2, 3))),
    bad_zxid_bit: ("CRC", zxid(2, 3), place_of(TXNS, zxid(2, 3))),
    bad_mark: ("BAD_EOR", zxid(2, 3), place_of(TXNS, zxid(2, 3))),
    bad_length: ("BAD_LEN", zxid(2, 3), place_of(TXNS, zxid(2, 3))),
    bad_length_past_the_end: ("BAD_LEN", zxid(2, 3), place_of(TXNS, zxid(2, 3))),
    bad_length_of_the_last: ("BAD_LEN", zxid(3, 6), place_of(TXNS, zxid(3, 6))),
    bad_version: ("BAD_VERSION", -1, 4),
    bad_padding: ("DATA_AFTER_END", zxid(3, 7), place_of(TXNS, zxid(3, 7))),
    bad_length_negative: ("BAD_LEN", zxid(2, 3), place_of(TXNS, zxid(2, 3))),
    bad_length_zero: ("DATA_AFTER_END", zxid(2, 3), place_of(TXNS, zxid(2, 3))),
    bad_magic: ("BAD_MAGIC", -1, 0),
    bad_kind: ("BAD_BODY", zxid(2, 3), place_of(TXNS, zxid(2, 3))),
    missing_one: ("GAP", zxid(2, 3), place_of(TXNS, zxid(2, 3))),
    missing_first_of_an_epoch: ("GAP", zxid(2, 1), place_of(TXNS, zxid(2, 1))),
    missing_a_file: ("GAP", zxid(2, 1), 16),
    missing_at_the_start: ("GAP", zxid(1, 1), 16),
    missing_an_epoch: ("MISSING", zxid(2, 1), place_of(TXNS, zxid(2, 1))),
    lost_end_of_an_epoch: ("MISSING", zxid(2, 9), place_of(TXNS, zxid(2, 9))),
    swapped: ("ZXID_DECREASE", zxid(2, 3), place_of(TXNS, zxid(2, 3)) + len(TXNS[17].record())),
    altered: ("DIVERGENT_TXN", zxid(2, 6), place_of(TXNS, zxid(2, 6))),
    altered_session: ("DIVERGENT_TXN", zxid(2, 6), place_of(TXNS, zxid(2, 6))),
    twice_differently: ("DUP_DIFFERS", zxid(1, 14), 16),
    zombie: ("ABANDONED_APPLIED", zxid(1, 15), place_of(TXNS, zxid(2, 1))),
    behind_epoch: ("EPOCH_BEHIND_LOG", -1, -1),
    behind_accepted: ("ACCEPTED_BEHIND", -1, -1),
    no_epoch: ("EPOCH_FILE", -1, -1),
    no_later_epoch: ("EPOCH_FILE", -1, -1),
    broken_snapshot: ("SNAPSHOT_BROKEN", zxid(2, 2), -2),
    forged_snapshot: ("RESTART_DIFFERS", -2, -1),
    polluted_snapshot: ("RESTART_DIFFERS", -2, -1),
    lost_bridge: ("SNAP_LOST", zxid(2, 1), 16),
}


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("damage", BAD, ids=lambda f: f.__name__)
def test_what_is_not_is_found_where_it_is(
    tmp_path: Path, damage: Callable[[list[Written]], Written], place: int
) -> None:
    s = healthy()
    s[place] = with_rest(damage(s))
    found = looked_at(tmp_path, s)
    code, z, offset = BAD[damage]
    said = [f for f in grave(found) if f.code == code]
    assert found.code == 1, [(f.code, f.place) for f in found.findings]
    assert said, [(f.code, f.place, f.sentence) for f in grave(found)]
    assert z == -2 or said[0].zxid == z
    assert offset == -2 or said[0].offset == offset
    assert {f.server for f in grave(found)} == {f"server{place + 1}"}, [
        (f.code, f.place, f.sentence) for f in grave(found)
    ]
    assert all(f.severity == VIOLATION for f in said)


def test_two_servers_without_digests_and_nobody_says_who(tmp_path: Path) -> None:
    other = [replace(t, body=t.body.replace(b"data 6", b"date 6")) if t.zxid == zxid(2, 6) else t for t in OLD]
    found = looked_at(tmp_path, [server(OLD), server(other)])
    assert [(f.code, f.server, sorted(f.servers)) for f in grave(found)] == [
        ("DIVERGENT_TXN", "", ["server1", "server2"])
    ]


def test_a_boundary_of_two_servers_without_digests_is_nobodys(tmp_path: Path) -> None:
    left = [Txn(zxid(1, 15), *create("/lost"))]
    found = looked_at(tmp_path, [server(OLD), server([*OLD[:14], *left, *OLD[14:]]), server(OLD[:3])])
    assert [(f.code, f.server, f.zxid) for f in grave(found)] == [("EPOCH_BOUNDARY", "", zxid(1, 15))]


def with_lost() -> list[Written]:
    """Servers of which two have logged what no history has."""
    left = [Txn(zxid(1, 15 + n), *create(f"/lost{n}")) for n in range(3)]
    s = healthy()
    for k in (1, 2):
        s[k] = server([*TXNS[:14], *left, *TXNS[14:]], zxid(2, 1))
        s[k].snapshots[zxid(2, 0)] = snapshot_bytes(tree_of(TXNS[:14]), 0)
    return s


def test_what_a_quorum_logged_and_no_history_has_was_lost(tmp_path: Path) -> None:
    found = looked_at(tmp_path, with_lost())
    assert [(f.code, f.zxid, f.last) for f in grave(found)] == [("COMMITTED_LOST", zxid(1, 15), zxid(1, 17))]


def test_holes_of_two_servers_are_the_first_cause(tmp_path: Path) -> None:
    """Each log says itself that it is not whole: no tree of a majority stands against digests."""
    holes = [server([t for t in TXNS if t.zxid != zxid(2, n)]) for n in (3, 6)]
    found = grave(looked_at(tmp_path, [server(TXNS), *holes]))
    assert [(f.code, f.server) for f in found[:2]] == [("GAP", "server2"), ("GAP", "server3")]
    assert "TREES_APART" not in {f.code for f in found}
    assert all(f.advice and "move its version-2 away" not in f.advice for f in found)


def test_what_a_copied_directory_has_counts_once(tmp_path: Path) -> None:
    """An operator gave a server the files of another, which had once logged what nobody else had, and both went on."""
    lost = with_lost()
    for n, s in enumerate(lost[1:]):
        s.snapshots |= {zxid(2, k): snapshot_bytes(tree_of(TXNS[: 14 + k]), zxid(2, k)) for k in (6, 7 + n)}
    (found,) = grave(looked_at(tmp_path / "copied", lost))
    assert (found.code, found.severity) == ("COMMITTED_LOST", "DANGER")
    assert "unless one of server2, server3 was copied from another" in found.sentence
    del lost[1].snapshots[zxid(2, 6)]
    (found,) = grave(looked_at(tmp_path / "of their own", lost))
    assert (found.code, found.severity) == ("COMMITTED_LOST", "VIOLATION")


WEIGHTS = "\n".join(["server.1=a:1:2", "server.2=b:1:2", "server.3=c:1:2:observer"])


def test_an_observer_makes_no_quorum(tmp_path: Path) -> None:
    """Proposals of a dead leader that an observer cannot have committed with it."""
    found = looked_at(tmp_path, with_lost(), WEIGHTS)
    assert grave(found) == []
    assert found.quorums == "majorities of 2, participants 1, 2, as the zoo.cfg says"


def test_a_change_of_the_membership_is_followed(tmp_path: Path) -> None:
    """From 2:2 on server 3 alone has weight: what it alone has logged is on a quorum."""
    text = b"server.1=a:1:2:observer;1\nserver.2=b:1:2:observer;1\nserver.3=c:1:2:participant;1\nversion=200000002"
    txns = [
        replace(t, kind=16, body=set_data("/zookeeper/config", text)[1]) if t.zxid == zxid(2, 2) else t for t in TXNS
    ]
    txns = digested([t for t in txns if not (t.kind == 5 and t.zxid > zxid(2, 2))][:16])
    tail = [Txn(zxid(2, 3 + n), *create(f"/tail{n}")) for n in range(2)]
    found = looked_at(tmp_path, [server(txns), server(txns), server([*txns, *tail])])
    assert grave(found) == []
    assert "UNCOMMITTED_TAIL" not in notes(found)
    assert {"CONFIG", "BEHIND"} <= notes(found)
    assert "as the record 2:2 of server1" in found.quorums


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


def test_one_server_alone_is_checked_by_its_digests(tmp_path: Path) -> None:
    found = looked_at(tmp_path, [altered([])])
    assert [(f.code, f.server, f.zxid) for f in grave(found)] == [("DIGEST_MISMATCH", "server1", zxid(2, 6))]


def test_every_code_that_is_given_has_its_row() -> None:
    import re

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
