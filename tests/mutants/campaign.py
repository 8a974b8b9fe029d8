"""Judging mutants: a copy of the tree, warm processes that run tests in it, and which tests to run first."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any

from .edits import Mutant
from .killers import LAST, Killers

ROOT = Path(__file__).resolve().parent.parent.parent
LEFT_OUT = shutil.ignore_patterns(
    ".git", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".venv", "*.egg-info"
)
AT_ONCE = 0.6  # CPU-seconds of tests that are collected together, the likeliest killers first
WALL = 60.0, 60.0  # seconds by the clock a child may take: so much, and so many times what its tests cost


class Warm:
    """A warm process (`tests.mutants.warm`) in a copy of the tree of its own."""

    def __init__(self, folder: Path, tables: bool) -> None:
        self.tree = folder / "tree"
        shutil.copytree(ROOT, self.tree, ignore=LEFT_OUT)
        environment = os.environ | {
            "ZABCHECK_CACHE": str(folder / "cache"), "TMPDIR": str(folder / "tmp"), "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONPATH": str(self.tree),
        }  # fmt: skip
        (folder / "tmp").mkdir()
        (folder / "cache").mkdir()
        command = [sys.executable, "-m", "tests.mutants.warm", *(["--tables"] if tables else [])]
        self.process = subprocess.Popen(
            command, cwd=self.tree, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """One request answered.

        Raises:
            RuntimeError: the process has died.
        """
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the warm process has died")
        return dict(json.loads(line))


class Tree:
    """Warm processes, each with a copy of the tree; all is gone when the `with` ends."""

    def __init__(self, jobs: int, tables: bool) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="mutants-")
        self.warm = [Warm(Path(self.folder.name) / str(k), tables) for k in range(jobs)]

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for warm in self.warm:
            assert warm.process.stdin
            warm.process.stdin.close()
        for warm in self.warm:
            warm.process.wait()
        self.folder.cleanup()


@dataclass(frozen=True)
class Judged:
    """What came of a mutant.

    Attributes:
        how: failed (a test), import (it cannot be read, or the front end rejects it before any test begins),
            rejected (the front end, within a test), out of time, crashed, or survived.
        test: the test that killed it.
        why: what that test says.
        cpu: CPU-seconds.
    """

    mutant: Mutant
    how: str
    test: str
    why: str
    cpu: float

    def as_dict(self) -> dict[str, Any]:
        m = self.mutant
        return {
            "file": m.path, "line": m.at, "inside": m.inside, "words": m.line_words, "column": m.column, "kind": m.kind,
            "before": m.before, "after": m.after, "how": self.how, "test": self.test, "why": self.why[:300],
            "cpu": self.cpu,
        }  # fmt: skip


@dataclass
class Campaign:
    """The mutants of some files, judged by the killers that these share.

    Attributes:
        paths: the files.
        killers: the tests that may kill them.
        costs: CPU-seconds by test.
        lines: the lines of each file that each test runs.
        kills: mutants killed so far, by test.
    """

    paths: Sequence[str]
    killers: Killers
    costs: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[str, set[int]]] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)

    def measure(self, tree: Tree) -> list[str]:
        """Run every killer of the tree as it is; returns those that fail, and are left out."""
        first, *others = tree.warm
        k = self.killers
        answer = first.ask(files=self.paths, batches=[], arguments=k.tests, without=k.without, wall=3600)
        if "costs" not in answer:
            raise RuntimeError(broken_baseline(answer))
        if answer["broken"] and answer["broken"]["how"] == "import":
            raise RuntimeError(broken_baseline(answer["broken"]))
        failed = set(answer["failed"])
        self.costs = {
            t: c for t, c in answer["costs"].items() if t not in failed and (c <= self.killers.dearest or self.named(t))
        }
        self.lines = {t: {path: set(some) for path, some in answer["lines"][t].items()} for t in self.costs}
        for warm in others:  # what is compiled once serves all
            shutil.copytree(first.tree.parent / "cache", warm.tree.parent / "cache", dirs_exist_ok=True)
            for made in first.tree.rglob("__pycache__"):
                shutil.copytree(made, warm.tree / made.relative_to(first.tree), dirs_exist_ok=True)
        return sorted(failed)

    def named(self, test: str) -> bool:
        return test.split("[")[0] in self.killers.tests

    def batches(self, mutant: Mutant) -> list[dict[str, float]]:
        """The tests to run of a mutant: the likeliest to kill it for their cost first, those of LAST and `late` last.
        Of a file whose functions run as they are, a test that runs none of the mutant's lines cannot tell."""
        where = set(range(mutant.line, mutant.last + 1))
        runs = {t for t, lines in self.lines.items() if lines.get(mutant.path, set()) & where}
        able = runs if self.killers.plain and mutant.inside else set(self.costs)
        most = 1 + self.kills.total()

        def score(test: str) -> tuple[bool, bool, float]:
            likely = (self.kills[test] + 0.3) / most * (4 if test in runs else 1)
            late, last = (any(part in test for part in parts) for parts in (self.killers.late, LAST))
            return late, last, -likely / (0.01 + self.costs[test])

        out: list[dict[str, float]] = [{}]
        for test in sorted(able, key=score):
            if out[-1] and sum(out[-1].values()) + self.costs[test] > AT_ONCE * 3 ** (len(out) - 1):
                out.append({})
            out[-1][test] = self.costs[test]
        return [batch for batch in out if batch]

    def judge(self, mutant: Mutant, text: str, warm: Warm) -> Judged:
        batches = self.batches(mutant)
        if not batches:
            return Judged(mutant, "survived", "", "no test runs it", 0.0)
        wall = WALL[0] + WALL[1] * sum(sum(b.values()) for b in batches)
        answer = warm.ask(file=mutant.path, text=mutant.applied(text), batches=batches, wall=wall)
        how, test = answer["how"], answer["test"]
        if "LanguageError" in answer["why"] or "zabspec/language/layout/source.py" in answer["why"]:
            how = "rejected"
        if how in ("failed", "rejected", "out of time"):
            self.kills[test] += 1
        return Judged(mutant, how, test, answer["why"], answer["cpu"])

    def judge_all(self, mutants: Sequence[Mutant], tree: Tree) -> Iterator[Judged]:
        """Every mutant judged, as they are done."""
        texts = {m.path: (tree.warm[0].tree / m.path).read_text(encoding="utf-8") for m in mutants}
        free: SimpleQueue[Warm] = SimpleQueue()
        for warm in tree.warm:
            free.put(warm)

        def one(mutant: Mutant) -> Judged:
            warm = free.get()
            try:
                return self.judge(mutant, texts[mutant.path], warm)
            finally:
                free.put(warm)

        with ThreadPoolExecutor(len(tree.warm)) as pool:
            yield from pool.map(one, mutants)


def broken_baseline(answer: dict[str, Any]) -> str:
    """Why the tests cannot be run of the tree as it is."""
    return f"the tests do not run without a mutant: {answer['how']} {answer['test']} {answer['why']}"
