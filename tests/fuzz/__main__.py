"""Run a campaign; ends with 1 if anything is wrong, which is told with the command, and the file, that shows it."""

from __future__ import annotations

import argparse
import contextlib
import random
import shlex
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from .commands import SAMPLES, commands
from .declared import DeclaredFuzzer, run_here
from .ends import LATE, Case, odd_files, signals_at_random, walk, wrong
from .files import damaged, samples
from .running import Outcome, load, run
from .truth import disputed, faults, lies

LIMIT = 8.0  # CPU seconds until a command is told to end


def campaign(made: Path, count: int, files: int, seed: int, limit: float) -> Iterator[tuple[Outcome, list[str]]]:
    """So many fuzzed commands, then so many changed files; each ending with what is wrong about it."""
    work = made.with_name("work")
    for words in commands(count, seed):
        fresh(made, work)
        outcome = run(words, work, limit)
        yield outcome, faults(outcome, work) + disputed(outcome, work, limit)
    for number, given in enumerate(damaged(made, files, seed)):
        fresh(made, work)
        (work / given.name).write_bytes(given.data)
        outcome = run(given.words, work, limit)
        wrong = faults(outcome, work) + lies(outcome, given, made)
        if wrong:
            kept = Path(tempfile.gettempdir()) / f"zabcheck-fuzz-{seed}-{number}-{Path(given.name).name}"
            kept.write_bytes(given.data)
            wrong.append(f"the file is kept as {kept}")
        yield outcome, wrong


def ends(made: Path, found: Iterable[Case], limit: float) -> Iterator[tuple[Outcome, list[str]]]:
    """Commands that are cut short, each ending with what is wrong about it."""
    work = made.with_name("work")
    for case in found:
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(made, work)
        odd_files(work)
        outcome = run(case.words, work, limit, case.setting)
        about = [f"{case.kind} {case.setting}"]
        found_wrong = wrong(case, outcome, work)
        yield outcome, [*found_wrong, *about] if found_wrong else []


def declarations(made: Path, count: int, seed: int) -> Iterator[tuple[Outcome, list[str]]]:
    """So many commands derived from the declarations of requests, each ending with what is wrong about it."""
    work, fuzzer = made.with_name("work"), DeclaredFuzzer(seed)
    for _ in range(count):
        fresh(made, work)
        outcome = run_here(fuzzer.command(), work)
        reports = [path.read_text()[-1500:] for path in work.glob("zabcheck-error-*")]
        yield outcome, faults(outcome, work) + reports


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
    parser.add_argument("--declared", type=int, default=0, help="commands derived from declarations")
    parser.add_argument("--ends", type=int, default=0, help="so many ways to be cut short of each kind and command")
    parser.add_argument("--kind", default="", help="with --ends: these kinds alone, as a,b")
    parser.add_argument("--most", type=int, help="with --ends: so many of all of these")
    parser.add_argument("--signals", type=int, default=0, help="signals at random moments")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=LIMIT, help="CPU seconds until a fuzzed command is told to end")
    parser.add_argument("--show", action="store_true", help="every command, with its ending")
    given = parser.parse_args()
    codes: Counter[tuple[str, int]] = Counter()
    bad, began = 0, time.perf_counter()
    short = list(walk(given.seed, given.ends)) if given.ends else []
    short = [case for case in short if not given.kind or case.kind in given.kind.split(",")]
    if given.most is not None:
        short = random.Random(given.seed).sample(short, min(given.most, len(short)))
    short += signals_at_random(given.signals, given.seed)
    with tempfile.TemporaryDirectory() as folder:
        load()
        made = Path(folder) / "made"
        made.mkdir()
        samples(made)
        with contextlib.suppress(KeyboardInterrupt):  # the figures say how far it got
            for o, faulty in chain(
                campaign(made, given.commands, given.files, given.seed, given.limit),
                ends(made, short, max(LATE, given.limit)),
                declarations(made, given.declared, given.seed),  # in this process, which has threads from then on
            ):
                name = o.words[0] if o.words and not o.words[0].startswith("-") else "explore"
                codes[name, o.code] += 1
                bad += bool(faulty)
                if faulty or given.show:
                    line = f"{o.code}  {o.seconds:5.1f} s  zabcheck {shlex.join(o.words)}"
                    print(line.encode(errors="replace").decode(), flush=True)
                if faulty:
                    said = "\n".join(f"    WRONG: {line}" for line in faulty)
                    print(f"{said}\n      {o.out[:300]!r}\n      {o.err[-600:]!r}", flush=True)
    for code in sorted({code for _, code in codes}):
        print(f"exit code {code}: {sum(n for (_, c), n in codes.items() if c == code)}")
    print(f"{bad} wrong of {sum(codes.values())}, {time.perf_counter() - began:.0f} s, seed {given.seed}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
