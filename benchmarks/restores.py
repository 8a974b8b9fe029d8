"""Hold what a start reads against the classes of official servers: draw directories, and load each with both.

python -m benchmarks.restores RUNS --release 3.9.5 --count 500 --seed 1 [--servers FOLDER]

RUNS is the folder of `--keep` of `benchmarks.directories`, whose changes are drawn here, too, beside flipped bits in
snapshots and in logs' padding. Java's ZKDatabase loads a directory without a server, which is far faster; of epoch
files and myid it knows nothing. Compared are whether it loads, the last zxid, and the nodes.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.directories import CHANGES, NUMBERS, OPTIONS, Drawn
from tests.zookeeper.start_kinds import start_tree
from traces.zookeeper.audit.audit import in_threads, load_kernels, read_servers
from traces.zookeeper.audit.starting import REFUSES, STARTS, read_by_start, read_runs
from traces.zookeeper.disk.rules import rules_for
from traces.zookeeper.disk.server import NotOne, find_directory
from traces.zookeeper.disk.trees import STATS
from traces.zookeeper.reenact.distributions import Release, find_release

Loaded = tuple[str, int, dict[str, tuple[int, int]]]  # outcome, last zxid, and nodes with mzxid and owner


def snapshot_flipped(d: Drawn, n: int, draw: random.Random) -> str:
    """Flip a bit of a snapshot, mostly of its last sections."""
    path = draw.choice(d.files(n, "snapshot"))
    data = bytearray(path.read_bytes())
    at = draw.randrange(max(0, len(data) - 60) if draw.random() < 0.7 else 0, len(data))
    data[at] ^= 1 << draw.randrange(8)
    path.write_bytes(bytes(data))
    return f"a bit of {path.name} at {at} of {len(data)}"


def snapshot_shortened(d: Drawn, n: int, draw: random.Random) -> str:
    """Take a snapshot's last section, or the one before it."""
    path = d.files(n, "snapshot")[-1]
    data = path.read_bytes()
    cut = draw.choice((21, 54))
    path.write_bytes(data[:-cut])
    return f"{path.name} without its last {cut} bytes"


def log_zeros(d: Drawn, n: int, draw: random.Random) -> str:
    """Leave nothing of a log but its space, with or without a header."""
    path = draw.choice(d.files(n, "log"))
    path.write_bytes((b"ZKLG\0\0\0\2" + bytes(8)) * draw.randrange(2) + bytes(4096))
    return f"{path.name} empty"


def log_linked(d: Drawn, n: int, draw: random.Random) -> str:
    """Put a link in the place of a log."""
    path = draw.choice(d.files(n, "log"))
    moved = path.rename(path.parent.parent / path.name)
    path.symlink_to(moved if draw.random() < 0.7 else moved.with_name("gone"))
    return f"{path.name} is a link"


HERE = (snapshot_flipped, snapshot_shortened, log_zeros, log_linked)


class Classes:
    """A JVM in which the classes of a release load directories."""

    def __init__(self, release: Release, work: Path) -> None:
        self.out = work / "out"
        source = str(Path(__file__).with_name("Restore.java"))
        quiet = ("-Dlogback.configurationFile=/none", "-Dorg.apache.logging.log4j.level=OFF")
        command = [str(release.java.program), *OPTIONS, *quiet, "-cp", ":".join(map(str, release.jars)), source]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)  # fmt: skip

    def loaded(self, d: Drawn, n: int) -> tuple[Loaded, str]:
        """Load a copy of a server's directories, which a server may change; also return why it ended."""
        place = self.out.with_name("copy")
        shutil.rmtree(place, ignore_errors=True)
        copy = d.copy(place)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        words = [str(self.out), str(copy.logs_of(n).parent), str(copy.data(n).parent)]
        self.process.stdin.write("\t".join(words) + "\n")
        self.process.stdin.flush()
        while (line := self.process.stdout.readline()).strip() != "done":
            if not line:
                raise SystemExit("the JVM has ended")
        found = [line.split("\t") for line in self.out.read_text(errors="replace").splitlines()]
        if found[0][0] == "ended":
            return (REFUSES, 0, {}), found[0][1]
        nodes = {w[1]: (int(w[2]), int(w[3])) for w in found[1:] if not w[1].startswith("/zookeeper")}
        return (STARTS, int(found[0][1]), nodes), ""


def ours(d: Drawn, n: int, release: str) -> tuple[Loaded, str]:
    """Return the same as an audit has it."""
    server = read_servers([find_directory(d.words(n), f"server{n}")], {}, in_threads)[0]
    rules = rules_for(release)
    server.directory.myid = None
    reading = read_by_start(server, rules)
    if reading.doubt:
        return ("unknown", 0, {}), reading.doubt
    if reading.line:
        return (REFUSES, 0, {}), reading.why
    runs = read_runs(reading)
    zxid = max((hi for _, hi in runs), default=reading.from_zxid)
    mzxid, owner = STATS.index("mzxid"), STATS.index("owner")
    nodes = {path or "/": (x.stats[mzxid], x.stats[owner]) for path, x in start_tree(server, rules).items()}
    return (STARTS, zxid, {p: x for p, x in nodes.items() if not p.startswith("/zookeeper")}), ""


def main() -> int:
    """Draw directories, load them, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", type=Path)
    parser.add_argument("--servers", default="")
    parser.add_argument("--release", default="3.9.5")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    load_kernels()
    bases = [Drawn(p, chosen.release, {}) for p in sorted(chosen.runs.glob("run-*"))]
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="zabcheck-restores-") as top:
        classes = Classes(find_release(chosen.release, servers=chosen.servers), Path(top))
        for k in range(chosen.count):
            draw = random.Random(f"restores {chosen.seed} {k}")
            made, n = draw.choice(bases).copy(Path(top) / "drawn"), draw.choice(NUMBERS)
            for _ in range(draw.choice((1, 1, 2, 3))):
                try:
                    made.told.append(draw.choice((*CHANGES, *HERE * 2))(made, n, draw))
                except (IndexError, OSError, ValueError):
                    continue
            try:
                (mine, why), (theirs, error) = ours(made, n, chosen.release), classes.loaded(made, n)
                tally[f"{mine[0]}, {theirs[0]}"] += 1
                if mine[0] != "unknown" and mine != theirs:
                    tally["differ"] += 1
                    some = sorted(set(mine[2].items()) ^ set(theirs[2].items()))[:3]
                    print(f"{k} {made.told}: {mine[:2]} {why}, {theirs[:2]} {error[:160]} {some}", flush=True)
            except NotOne as problem:
                tally[f"no directory: {str(problem).rpartition('/')[2][:60]}"] += 1
            shutil.rmtree(made.folder)
        classes.process.kill()
    print("\n".join(f"{count:5} {what}" for what, count in sorted(tally.items())))
    print(f"{chosen.count} directories by the classes of {chosen.release}: {tally['differ']} differ")
    return 1 if tally["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
