"""Mutated directories audited, by the thousand: `python -m tests.fuzz.audited --directories 3000`.

Every mutated ensemble is audited whole and rendered in every output format, every tenth with a forecast. What must not
happen: an exception, an audit of more than ten seconds, or memory beyond 500 MB.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from checker.report.formats.registry import formats_of
from checker.report.formats.terminal import plain_text, shown
from checker.zookeeper.report.audit import Audited
from tests.zookeeper.written import (
    Txn,
    Written,
    create,
    failed_multi,
    history,
    multi,
    server,
    snapshot_bytes,
    tree_of,
    zxid,
)
from traces.zookeeper.audit import audit as audits
from traces.zookeeper.audit.audit import audit

LONGEST, LARGEST = 10.0, 500 << 20  # CPU seconds, bytes
NUMBERS = (0, 1, -1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 20, 12, 31, 32, 0x42)


def originals() -> list[Written]:
    """Three servers: several files, snapshots of all kinds, a SNAP sync, multis, ephemeral nodes."""
    txns = history((1, 14), (2, 9), (3, 6))
    more = [
        Txn(zxid(3, 7), *multi(create("/m", b"1"), create("/m/a", b"2"))),
        Txn(zxid(3, 8), *failed_multi(False)),
        Txn(zxid(3, 9), *create("/e", b"", True)),
        Txn(zxid(3, 10), -11, b"\0\0\0\1\0\0\0\2/e"),
        Txn(zxid(3, 11), 21, create("/t", b"ttl")[1][:-5] + b"\0\0\0\1\0\0\0\0\0\0\x27\x10"),
        Txn(zxid(3, 12), 7, b"\0\0\0\2/m\0\0\0\1\0\0\0\x1f\0\0\0\5world\0\0\0\6anyone\0\0\0\1"),
    ]
    everything = [*txns, *more]
    at = tree_of(txns[:14])
    one = server(everything, zxid(1, 8), zxid(3, 1))
    one.snapshots[zxid(1, 14)] = snapshot_bytes(at, zxid(1, 14))
    two = server(everything, zxid(2, 3))
    two.raw[f"snapshot.{zxid(1, 14):x}.gz"] = gzip.compress(snapshot_bytes(at, zxid(1, 14)))
    three = server([t for t in everything if t.zxid <= zxid(1, 5) or t.zxid >= zxid(2, 5)], zxid(2, 5))
    three.snapshots[zxid(2, 4)] = snapshot_bytes(tree_of(txns[:18]), 0)
    return [one, two, three]


def mutated(data: bytes, draw: random.Random) -> bytes:
    """A file with something changed."""
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        at = draw.randrange(len(out)) if out else 0
        match draw.randrange(9):
            case 0 if out:
                out[at] ^= 1 << draw.randrange(8)
            case 1 if out:
                out[at] = draw.randrange(256)
            case 2:
                del out[at:]
            case 3:
                del out[at : at + draw.randrange(1, 40)]
            case 4:
                out[at:at] = draw.randbytes(draw.randrange(1, 40))
            case 5:
                out[at : at + 4] = (draw.choice(NUMBERS) & 0xFFFFFFFF).to_bytes(4, "big")
            case 6:
                count = draw.randrange(1, 64)
                out[at : at + count] = bytes(count)
            case 7:
                end = min(len(out), at + draw.randrange(1, 120))
                out[at:at] = out[at:end]
            case _:
                out += draw.randbytes(draw.randrange(1, 30))
    return bytes(out)


def resealed(data: bytes, draw: random.Random) -> bytes:
    """A log in which one payload is changed and its checksum computed anew."""
    import struct
    import zlib

    places, at = [], 16
    while at + 12 <= len(data):
        length = struct.unpack(">i", data[at + 8 : at + 12])[0]
        if length < 32 or at + 13 + length > len(data):
            break
        places.append((at, length))
        at += 13 + length
    if not places:
        return data
    at, length = draw.choice(places)
    payload = mutated(data[at + 12 : at + 12 + length], draw)
    return (
        data[:at] + struct.pack(">qi", zlib.adler32(payload), len(payload)) + payload + b"B" + data[at + 13 + length :]
    )


def rendered(report: Audited) -> Iterator[str | bytes]:
    """Yield a report in every output format."""
    yield plain_text(report)
    yield str(shown(report))
    yield json.dumps(report.as_json())
    yield from (each.render(report) for each in formats_of("audit").values())


def renamed(folders: list[Path], draw: random.Random) -> list[tuple[Path, Path]]:
    """Rename a few files as operators do, or remove them; return pairs of where they were and are."""
    out = []
    for path in draw.sample(sorted(p for f in folders for p in f.rglob("*") if p.is_file()), draw.randrange(3)):
        name = draw.choice((f"{path.name}.bak", f"old-{path.name}", "log.zz", "snapshot.1", path.name.upper()))
        other = path.with_name(name)
        if not other.exists():
            path.rename(other)
            out.append((path, other))
    return out


def campaign(directories: int, seed: int, seconds: float) -> int:
    """Audit so many mutated ensembles; returns 1 if anything happened that must not."""
    from checker.explore.memory import peak_bytes
    from traces.zookeeper.disk.server import find_directory

    room = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="zabcheck-fuzz-", dir=room))
    kept: dict[Path, bytes] = {}
    for n, s in enumerate(originals(), 1):
        target = s.write(folder / f"server{n}")
        kept |= {p: p.read_bytes() for p in target.rglob("*") if p.is_file()}
    draw, done, rounds, slowest, bad = random.Random(seed), 0, 0, 0.0, 0
    audits.PAUSE = 0.0  # nobody writes meanwhile
    verdicts: Counter[str] = Counter()
    names, begun = sorted(kept), time.monotonic()
    folders = [folder / f"server{n}" for n in (1, 2, 3)]
    while rounds < directories and time.monotonic() - begun < seconds:
        chosen = draw.sample(names, draw.choice((1, 1, 2, 3, len(names) - 1)))
        changed = {
            p: (resealed if p.name.startswith("log.") and draw.random() < 0.4 else mutated)(kept[p], draw)
            for p in chosen
        }
        for path, data in changed.items():
            path.write_bytes(data)
        moved = renamed(folders, draw)
        start = time.process_time()
        try:
            found = audit([find_directory([d], d.name) for d in folders], forecast=rounds % 10 == 0)
            verdicts[found.verdict] += 1
            list(rendered(Audited(found)))
        except Exception as problem:
            bad += 1
            saved = Path(tempfile.mkdtemp(prefix="zabcheck-fuzz-found-"))
            shutil.copytree(folder, saved / "ensemble")
            traceback.print_exc(limit=-5)
            print(f"{type(problem).__name__}: {problem}; kept in {saved}", flush=True)
            if bad > 20:
                break
        slowest = max(slowest, time.process_time() - start)
        for _, other in moved:
            other.unlink()
        for path in {*chosen, *(path for path, _ in moved)}:
            path.write_bytes(kept[path])
        done, rounds = done + len(chosen), rounds + 1
    shutil.rmtree(folder, ignore_errors=True)
    most = peak_bytes()
    print(
        f"{rounds:,} mutated directories, {done:,} files, in every output format, seed {seed}: {dict(verdicts)}; {bad} "
        f"exceptions; slowest audit {slowest:.2f} CPU-s; {most >> 20} MB"
    )
    return int(bad > 0 or slowest > LONGEST or most > LARGEST)


def main() -> int:
    words = argparse.ArgumentParser()
    words.add_argument("--directories", type=int, default=3_000)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--seconds", type=float, default=3600)
    words.add_argument("--checked", action="store_true", help="kernels in CPython, every access checked (slow)")
    given = words.parse_args()
    if given.checked:
        from traces.zookeeper.disk import logs, snapshots, trees

        for module in (logs, snapshots, trees):
            module.machine = lambda kernel: kernel  # type: ignore[attr-defined]
        logs.ENTRIES, logs.ROOM, trees.ROOM = 256, 1 << 14, 1 << 14
    return campaign(given.directories, given.seed, given.seconds)


if __name__ == "__main__":
    raise SystemExit(main())
