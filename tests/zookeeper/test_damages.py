"""A real healthy ensemble damaged in fourteen ways, on each of its servers: each time findings, and on that server
alone (issue 13, acceptance 2)."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.zookeeper.written import data_sets, framed
from traces.zookeeper.audit.audit import audit
from traces.zookeeper.audit.findings import NOTE
from traces.zookeeper.disk.server import find_directory


def records(path: Path) -> list[tuple[int, bytes]]:
    """The records of a log: zxid and bytes."""
    data, at, out = path.read_bytes(), 16, []
    while at + 12 <= len(data) and (length := struct.unpack(">i", data[at + 8 : at + 12])[0]) > 0:
        out.append((struct.unpack(">q", data[at + 24 : at + 32])[0], data[at : at + 13 + length]))
        at += 13 + length
    return out


def put(path: Path, found: list[tuple[int, bytes]]) -> None:
    path.write_bytes(path.read_bytes()[:16] + b"".join(r for _, r in found) + bytes(4096))


def middle(folder: Path) -> tuple[Path, list[tuple[int, bytes]], int]:
    """A log in the middle of a server's, and the place of a setData or create in it."""
    path = sorted(folder.glob("log.1*"))[1]
    found = records(path)
    k = next(n for n in range(len(found) // 2, len(found)) if struct.unpack(">i", found[n][1][40:44])[0] in (1, 5))
    return path, found, k


def flip(at: int) -> Callable[[Path], str]:
    def damage(folder: Path) -> str:
        path, found, k = middle(folder)
        data = bytearray(found[k][1])
        data[at] ^= 16
        put(path, [*found[:k], (0, bytes(data)), *found[k + 1 :]])
        return path.name

    return damage


def cut_one(folder: Path) -> str:
    path, found, k = middle(folder)
    put(path, found[:k] + found[k + 1 :])
    return path.name


def swap_two(folder: Path) -> str:
    path, found, k = middle(folder)
    put(path, [*found[:k], found[k + 1], found[k], *found[k + 2 :]])
    return path.name


def alter_one(folder: Path) -> str:
    path, found, k = middle(folder)
    payload = bytearray(found[k][1][12:-1])
    payload[-20] ^= 1  # before the digest
    put(path, [*found[:k], (0, framed(bytes(payload))), *found[k + 1 :]])
    return path.name


def alter_a_digest(folder: Path) -> str:
    path, found, k = middle(folder)
    payload = bytearray(found[k][1][12:-1])
    payload[-1] ^= 1
    put(path, [*found[:k], (0, framed(bytes(payload))), *found[k + 1 :]])
    return path.name


def cut_the_end_of_a_file(folder: Path) -> str:
    path, found, _ = middle(folder)
    put(path, found[: len(found) - 3])
    return ""


def remove_a_file(folder: Path) -> str:
    logs = sorted(folder.glob("log.1*"))
    logs[1].unlink()
    return ""


def write_over_the_magic(folder: Path) -> str:
    path, _, _ = middle(folder)
    path.write_bytes(b"\x93" + path.read_bytes()[1:])
    return path.name


def say_one_differently_again(folder: Path) -> str:
    path, found, k = middle(folder)
    payload = bytearray(found[k][1][12:-1])
    payload[8] ^= 1  # the client's number of its request
    put(path, [*found[: k + 1], (0, framed(bytes(payload))), *found[k + 1 :]])
    return path.name


def put_epoch_back(folder: Path) -> str:
    (folder / "currentEpoch").write_text("3")
    return "currentEpoch"


def put_promise_back(folder: Path) -> str:
    (folder / "acceptedEpoch").write_text("4")
    return "acceptedEpoch"


def damage_a_snapshot(folder: Path) -> str:
    path = max((p for p in folder.glob("snapshot.*")), key=lambda p: int(p.name[9:], 16))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    return path.name


DAMAGES = {
    "checksum": flip(6), "length": flip(11), "body": flip(50), "mark": flip(-1), "cut": cut_one, "swap": swap_two,
    "alter": alter_one, "digest": alter_a_digest, "end": cut_the_end_of_a_file, "file": remove_a_file,
    "magic": write_over_the_magic, "twice": say_one_differently_again, "epoch": put_epoch_back,
    "promise": put_promise_back, "snapshot": damage_a_snapshot,
}  # fmt: skip


@pytest.mark.parametrize("place", [1, 2, 3])
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.slow(seconds=1)
def test_a_damage_is_found_on_its_server_and_nowhere_else(tmp_path: Path, damage: str, place: int) -> None:
    shutil.copytree(data_sets() / "healthy_small", tmp_path / "set")
    file = DAMAGES[damage](tmp_path / "set" / f"server{place}" / "version-2")
    found = audit([find_directory([tmp_path / "set" / f"server{n}"], f"server{n}") for n in (1, 2, 3)])
    grave = [f for f in found.findings if f.severity != NOTE]
    assert found.code == 1, [(f.code, f.place, f.sentence) for f in found.findings]
    assert {f.server for f in grave} == {f"server{place}"}, [(f.code, f.place, f.sentence) for f in grave]
    assert not file or file in {f.file for f in grave}
