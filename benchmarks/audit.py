"""Measure how fast an ensemble is audited: three servers with the same transactions of about 150 bytes, all intact.

    python -m benchmarks.audit --records 400000

The rows are kept in `results/audit.json`.
"""

from __future__ import annotations

import argparse
import functools
import resource
import shutil
import struct
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from benchmarks.figures import Figures
from tests.zookeeper.written import Tree, snapshot_bytes
from traces.zookeeper.audit.audit import Audit, audit, load_kernels
from traces.zookeeper.disk.logs import Reader, read_log
from traces.zookeeper.disk.server import find_directory

NODES = 1000
WORLD = struct.pack(">iii5si6s", 1, 31, 5, b"world", 6, b"anyone")
HEAD = struct.pack(">iiq", 0x5A4B4C47, 2, 0)
STAT = struct.Struct(">qqqqqiiiq")


def text(data: bytes) -> bytes:
    """Return a string as jute encodes it: its length, then its bytes."""
    return struct.pack(">i", len(data)) + data


def record(zxid: int, time_: int, kind: int, body: bytes, digest: int) -> bytes:
    """Return a record of a transaction log, with its checksum and the digest of the tree."""
    payload = struct.pack(">qiqqi", 7, 1, zxid, time_, kind) + body + struct.pack(">iQ", 2, digest)
    return struct.pack(">qi", zlib.adler32(payload), len(payload)) + payload + b"B"


def write_log(path: Path, count: int) -> None:
    """Write a log of creates, and then repeated changes of the same nodes."""
    root = STAT.pack(0, 0, 0, 0, 0, 0, 0, 0, 0)
    first = zlib.crc32(root)
    total, digests = first + zlib.crc32(b"/zookeeper" + root), {}
    with path.open("wb") as out:
        out.write(HEAD)
        parts = []
        for n in range(1, count + 1):
            zxid, now, k = 1 << 32 | n, 1_795_000_000_000 + n, n % NODES
            name = b"/node%06d" % k
            data = b"%052d" % n
            if k not in digests:
                body = (
                    struct.pack(">i", len(name))
                    + name
                    + struct.pack(">i", len(data))
                    + data
                    + WORLD
                    + struct.pack(">bi", 0, n)
                )
                root = STAT.pack(0, 0, zxid, 0, 0, 0, n, 0, 0)
                total += zlib.crc32(root) - first
                first = zlib.crc32(root)
                digests[k] = [zxid, now, n, 0]
                kind, crc = 1, zlib.crc32(name + data + STAT.pack(zxid, zxid, zxid, now, now, 0, 0, 0, 0))
            else:
                czxid, ctime, _, before = digests[k]
                version = n // NODES
                body = (
                    struct.pack(">i", len(name))
                    + name
                    + struct.pack(">i", len(data))
                    + data
                    + struct.pack(">i", version)
                )
                kind, crc = 5, zlib.crc32(name + data + STAT.pack(czxid, zxid, czxid, ctime, now, version, 0, 0, 0))
                total -= before
            total += crc
            digests[k][3] = crc
            parts.append(record(zxid, now, kind, body, total & (1 << 64) - 1))
            if len(parts) == 10_000:
                out.write(b"".join(parts))
                parts = []
        out.write(b"".join(parts))


def timed(figures: Figures, what: str, records: int, work: Callable[[], object]) -> object:
    """Run a function, keep its time and rate, and return its result."""
    start, cpu = time.perf_counter(), time.process_time()
    out = work()
    wall, spent = time.perf_counter() - start, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    figures.add(what, records, round(spent, 2), round(wall, 2), round(records / spent / 1e6, 2), memory)
    return out


def main() -> None:
    """Build three servers with equal logs in a temporary folder, and time their audit."""
    words = argparse.ArgumentParser()
    words.add_argument("--records", type=int, default=400_000)
    given = words.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="zabcheck-audit-"))
    try:
        name = f"log.{(1 << 32) + 1:x}"
        for n in (1, 2, 3):
            target = folder / f"server{n}" / "version-2"
            target.mkdir(parents=True)
            (target / "currentEpoch").write_text("1")
            (target / "acceptedEpoch").write_text("1")
            (target / "snapshot.0").write_bytes(snapshot_bytes(Tree(), 0))  # as a first start leaves it
            if n == 1:
                write_log(target / name, given.records)
            else:
                shutil.copy(folder / "server1" / "version-2" / name, target / name)
        log = folder / "server1" / "version-2" / name
        print(f"{log.stat().st_size / given.records:.0f} bytes a record on the disk")
        figures = Figures(
            "audit", "rates", ("", "records", "CPU s", "s", "M records a CPU-second", "memory at most, MB")
        )
        load_kernels()
        reader = Reader()
        timed(figures, "one log read and checked", given.records, lambda: read_log(log, 0, reader))

        def whole(digests: bool) -> Audit:
            directories = [find_directory([folder / f"server{n}"], f"server{n}") for n in (1, 2, 3)]
            return audit(directories, digests=digests)

        for digests in (False, True):
            what = f"audit of 3 servers, {'with' if digests else 'without'} digests"
            found = timed(figures, what, 3 * given.records, functools.partial(whole, digests))
            assert isinstance(found, Audit)
            assert found.verdict == "OK", [(f.code, f.sentence) for f in found.findings]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
