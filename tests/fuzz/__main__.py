"""Run a campaign; ends with 1 if anything is wrong, which is told with the command, and the file, that shows it."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .commands import SAMPLES, commands
from .files import damaged, samples
from .running import Outcome, load, run
from .truth import disputed, faults, lies

__all__ = ["campaign"]

LIMIT = 8.0  # seconds until a command is told to end


def campaign(folder: Path, count: int, files: int, seed: int) -> Iterator[tuple[Outcome, list[str]]]:
    """So many fuzzed commands, then so many changed files; each ending with what is wrong about it."""
    load()
    made, work = folder / "made", folder / "work"
    made.mkdir()
    samples(made)
    for words in commands(count, seed):
        fresh(made, work)
        outcome = run(words, work, LIMIT)
        yield outcome, faults(outcome, work) + disputed(outcome, work, LIMIT)
    for given in damaged(made, files, seed):
        fresh(made, work)
        (work / given.name).write_bytes(given.data)
        outcome = run(given.words, work, LIMIT)
        wrong = faults(outcome, work) + lies(outcome, given, made)
        if wrong:
            kept = Path(tempfile.gettempdir()) / f"zabcheck-fuzz-{seed}-{Path(given.name).name}"
            kept.write_bytes(given.data)
            wrong.append(f"the file is kept as {kept}")
        yield outcome, wrong


def fresh(made: Path, work: Path) -> None:
    """The files as they were made, in a folder of their own."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    for name in SAMPLES:
        if (made / name).is_dir():
            shutil.copytree(made / name, work / name)
        else:
            shutil.copy(made / name, work / name)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--commands", type=int, default=2000)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="every command, with its ending")
    given = parser.parse_args()
    codes: Counter[tuple[str, int]] = Counter()
    bad, began = 0, time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for o, wrong in campaign(Path(folder), given.commands, given.files, given.seed):
            name = o.words[0] if o.words and not o.words[0].startswith("-") else "explore"
            codes[name, o.code] += 1
            bad += bool(wrong)
            if wrong or given.show:
                print(f"{o.code}  {o.seconds:5.1f} s  zabcheck {shlex.join(o.words)}".encode(errors="replace").decode())
            for line in wrong:
                print(f"    WRONG: {line}\n      {o.out[:300]!r}\n      {o.err[-600:]!r}", flush=True)
    for code in sorted({code for _, code in codes}):
        print(f"exit code {code}: {sum(n for (_, c), n in codes.items() if c == code)}")
    print(f"{bad} wrong of {sum(codes.values())}, {time.perf_counter() - began:.0f} s, seed {given.seed}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
