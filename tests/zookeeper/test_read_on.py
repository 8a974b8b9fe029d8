"""What an audit reads of files that are written meanwhile: only what is new, and it comes to what a fresh reading says,
whatever became of them; and what reading leaves as it was: the page cache of a running server."""

from __future__ import annotations

import ctypes
import mmap
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.zookeeper.healthy import TXNS, healthy
from tests.zookeeper.written import (
    HEAD,
    Txn,
    create,
    digested,
    ensemble,
    framed,
    history,
    server,
    snapshot_bytes,
    tree_of,
    zxid,
)
from traces.zookeeper.audit import audit as audits
from traces.zookeeper.audit.audit import audit, in_threads, read_servers
from traces.zookeeper.disk import logs
from traces.zookeeper.disk.logs import LogFile, Reader
from traces.zookeeper.disk.server import Server, find_directory

LIVE = history((1, 40), (2, 60), (3, 80))
OTHERS = digested([*LIVE[:30], *(Txn(t.zxid, *create(f"/other{k}")) for k, t in enumerate(LIVE[30:]))])


def read(folders: list[Path], before: Sequence[Server] = ()) -> list[Server]:
    """The servers' files; of those that were read before only what is new."""
    return read_servers([find_directory([p], p.name) for p in folders], {s.name: s for s in before}, in_threads)


def told(servers: list[Server]) -> list[object]:
    """All that was read of logs, but for the pieces in which it was read."""
    return [replace(f, pieces=[]) for s in servers for f in s.logs]


class Growing:
    """A server's directory that is written to as a server does."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.txns, self.at = folder / "version-2", LIVE, 20
        server(LIVE[:20], zxid(1, 9)).write(folder)
        self.log = self.folder / f"log.{zxid(1, 9):x}"
        self.begins = 8

    def append(self, draw: random.Random) -> None:
        count = draw.randrange(1, 6)
        self.write(
            self.log.read_bytes().rstrip(b"\0"), self.txns[self.at : self.at + count], draw.choice((0, 100, 4096))
        )
        self.at += count
        (self.folder / "currentEpoch").write_text(str(self.txns[self.at - 1].zxid >> 32))
        (self.folder / "acceptedEpoch").write_text(str(self.txns[self.at - 1].zxid >> 32))

    def write(self, data: bytes, txns: list[Txn], padding: int) -> None:
        """Behind what is there, which ends with its mark: nothing but zeros is stripped."""
        self.log.write_bytes(
            (data if len(data) > len(HEAD) else HEAD) + b"".join(t.record() for t in txns) + bytes(padding)
        )

    def roll(self, draw: random.Random) -> None:
        self.log = self.folder / f"log.{self.txns[self.at].zxid:x}"
        self.begins = self.at
        self.write(HEAD, [], 0)
        self.append(draw)

    def tear(self, draw: random.Random) -> None:
        """A record of which a part is there; the next write is behind the last whole one."""
        whole = self.log.read_bytes().rstrip(b"\0")
        record = self.txns[self.at].record()
        self.log.write_bytes(whole + record[: draw.randrange(13, len(record) - 1)])
        self.torn = whole

    def mend(self, draw: random.Random) -> None:
        whole = getattr(self, "torn", None)
        if whole is not None:
            self.log.write_bytes(whole)
            self.append(draw)
            del self.torn

    def snapshot(self, draw: random.Random) -> None:
        last = self.txns[self.at - 1].zxid
        (self.folder / f"snapshot.{last:x}").write_bytes(snapshot_bytes(tree_of(self.txns[: self.at]), last))

    def cut_and_written_on(self, draw: random.Random) -> None:
        """TRUNC, and the same zxids again with other transactions: the file is no shorter than it was."""
        if self.txns is LIVE and 30 < self.at < 48 and self.begins < 30:
            size = self.log.stat().st_size
            kept = HEAD + b"".join(t.record() for t in LIVE[self.begins : 30])
            self.txns = OTHERS
            self.write(kept, OTHERS[30 : self.at], 0)
            self.log.write_bytes(self.log.read_bytes().ljust(size, b"\0"))

    def damage(self, draw: random.Random) -> None:
        """A record whose body is another, its checksum right."""
        data = self.log.read_bytes()
        first = self.txns[self.begins].record()
        if data[16 : 16 + len(first)] == first:
            payload = bytearray(first[12:-1])
            payload[-20] ^= 1
            self.log.write_bytes(data[:16] + framed(bytes(payload)) + data[16 + len(first) :])


STEPS: tuple[Callable[[Growing, random.Random], None], ...] = (
    Growing.append, Growing.append, Growing.append, Growing.append, Growing.roll, Growing.tear, Growing.snapshot,
    Growing.cut_and_written_on,
)  # fmt: skip


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("seed", range(4))
def test_reading_on_comes_to_what_a_fresh_reading_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(logs, "SEALED", 300)  # more than a record, less than a file
    went_on = []
    real = audits.read_on

    def noted(earlier: LogFile, reader: Reader) -> LogFile | None:
        found = real(earlier, reader)
        went_on.append(found is not None and found.end > earlier.end)
        return found

    monkeypatch.setattr(audits, "read_on", noted)
    draw = random.Random(seed)
    ensemble_ = [Growing(tmp_path / f"server{n}") for n in (1, 2, 3)]
    folders = [g.folder.parent for g in ensemble_]
    found = read(folders)
    for _ in range(18):
        for g in draw.sample(ensemble_, draw.randrange(1, 4)):
            g.mend(draw)
            draw.choice(STEPS)(g, draw)
        found = read(folders, found)
        assert told(found) == told(read(folders))
    assert sum(went_on) > 8
    assert not all(went_on)
    ensemble_[seed % 3].damage(draw)  # in old bytes, and nothing new behind them
    assert told(read(folders, found)) == told(read(folders))


def test_of_a_log_that_has_grown_what_is_new_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = ensemble(tmp_path, *[server(LIVE[:60], zxid(1, 20)) for _ in range(3)])
    found = read(folders)
    ends = {f.path: f.end for s in found for f in s.logs}
    for n, p in enumerate(folders):
        path = p / "version-2" / f"log.{zxid(1, 20):x}"
        more = b"".join(t.record() for t in LIVE[60 : 63 - n])
        path.write_bytes(path.read_bytes().rstrip(b"\0") + more + bytes(100))
    places: list[bool] = []
    real = os.preadv

    def noted(fd: int, buffers: list[memoryview], at: int) -> int:
        places.append(at >= ends[Path(os.readlink(f"/proc/self/fd/{fd}"))])
        return real(fd, buffers, at)

    monkeypatch.setattr(os, "preadv", noted)
    again = read(folders, found)
    assert [s.records for s in again] == [63, 62, 61]
    assert all(places)
    assert len(places) >= 3


def test_a_log_that_was_written_over_is_read_anew(tmp_path: Path) -> None:
    """As long as before and later: only its bytes say that it is another."""
    folders = ensemble(tmp_path, *healthy())
    found = read(folders)
    path = folders[2] / "version-2" / f"log.{zxid(2, 4):x}"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"data", b"date"))
    assert path.stat().st_size == len(data)
    again = read(folders, found)
    assert told(again) == told(read(folders)) != told(found)
    other = data.replace(b"data", b"date").rstrip(b"\0") + TXNS[-1].record() + bytes(100)
    path.write_bytes(other)  # and as longer, which an old part that is read no more would hide
    assert told(read(folders, found)) == told(read(folders)) != told(again)


# --- the page cache ------------------------------------------------------------------------------------


def resident(path: Path) -> int:
    """How many of a file's pages are in the page cache: asked of the kernel, without touching them."""
    libc = ctypes.CDLL(None, use_errno=True)
    size = path.stat().st_size
    with path.open("r+b") as file, mmap.mmap(file.fileno(), size) as mapped:
        pages = -(-size // mmap.PAGESIZE)
        seen = (ctypes.c_ubyte * pages)()
        here = (ctypes.c_char * size).from_buffer(mapped)
        failed = libc.mincore(ctypes.byref(here), ctypes.c_size_t(size), seen)
        del here
        assert failed == 0, os.strerror(ctypes.get_errno())
        return sum(page & 1 for page in seen)


def test_a_running_server_s_page_cache_is_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = ensemble(tmp_path, *[server(TXNS, padding=1 << 18) for _ in range(3)])
    files = [p for f in folders for p in f.rglob("*") if p.is_file() and p.stat().st_size > mmap.PAGESIZE]
    for path in files:
        with path.open("r+b") as file:
            os.fsync(file.fileno())  # a page that is not written yet would stay in any case
            file.read()
    before = {p: resident(p) for p in files}
    assert all(before.values())
    flags: list[int] = []
    real = os.open

    def noted(path: object, how: int, *more: object, **named: object) -> int:
        flags.append(how)
        return real(path, how, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", noted)
    monkeypatch.setattr(os, "posix_fadvise", lambda *_: pytest.fail("the kernel is told what to do with its cache"))
    assert audit([find_directory([p], p.name) for p in folders]).verdict == "OK"
    assert flags
    assert not any(how & os.O_DIRECT for how in flags)
    monkeypatch.undo()
    assert {p: resident(p) for p in files} == before
    with files[0].open("rb") as file:  # and the check can fail: this is what must not be done
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if resident(files[0]) == before[files[0]]:
        pytest.skip("this file system keeps its pages whatever it is told (a tmpfs): nothing was shown of them")
