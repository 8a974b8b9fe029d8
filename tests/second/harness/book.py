"""What the reference says of a request, and running it: in a process of its own, which loads nothing of the product."""

from __future__ import annotations

import hashlib
import json
import os
import select
import subprocess
import sys
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.second.harness.plain import canonical

ROOT = Path(__file__).parents[3]
READS = ("zabspec/second/*.py", "tests/second/explore.py", "tests/second/reference.py")


class ReferenceFailed(RuntimeError):
    """The reference gave no answer."""


class ReferenceTooSlow(ReferenceFailed):
    """The reference took longer than its limit: it is undecided what it would have said."""


class Book:
    """The reference's answer, its states by their canonical texts.

    Attributes:
        keys: of each state its text; `number` is the way back.
        next: of each state its successors: the number of each, with the labels of the edges to it.
        errors: of each state in which a step errs the labels of those steps.
        expanded: the states of which all steps are known.
    """

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.answer = answer
        self.keys = [canonical(state) for state in answer["states"]]
        self.number = {key: k for k, key in enumerate(self.keys)}
        self.next: list[dict[int, set[str]]] = [{} for _ in self.keys]
        for i, label, j in answer["edges"]:
            self.next[i].setdefault(j, set()).add(named(label))
        self.errors: dict[int, set[str]] = {}
        for i, label, _ in answer["errors"]:
            self.errors.setdefault(i, set()).add(named(label))
        self.terminal = set(answer["terminal"])
        self.depth = list(answer["depth"])
        self.verdicts: dict[str, dict[str, Any]] = answer["verdicts"]
        self.complete = bool(answer["complete"])
        self.expanded = list(range(int(answer["expanded"])))
        self.expanded_set = frozenset(self.expanded)

    def last_level(self) -> int:
        """The first depth of which some state is not expanded."""
        return (
            self.depth[len(self.expanded)] if len(self.expanded) < len(self.keys) else max(self.depth, default=-1) + 1
        )

    @property
    def starts(self) -> list[str]:
        """The initial states."""
        return [key for key, depth in zip(self.keys, self.depth, strict=True) if depth == 0]

    def start_of(self, k: int) -> int:
        """The initial state of a shortest run to a state."""
        while self.depth[k]:
            k = self.before(k)
        return k

    def before(self, k: int) -> int:
        """The state before the last one of a shortest run."""
        return next(i for i, after in enumerate(self.next) if k in after and self.depth[i] < self.depth[k])

    def path(self, k: int) -> list[tuple[str, int]]:
        """A shortest run to a state: labels, and the states that they lead to."""
        out: list[tuple[str, int]] = []
        while self.depth[k]:
            before = self.before(k)
            out.insert(0, (min(self.next[before][k]), k))
            k = before
        return out

    def steps(self, k: int) -> dict[str, set[str]]:
        """The successors of a state by their texts, each with its labels."""
        return {self.keys[j]: labels for j, labels in self.next[k].items()}


def named(label: str) -> str:
    """A label as ours are: a step of the protocol's own is called by its function, with dashes."""
    return label.replace("_", "-") if ":" in label else label


class Reference:
    """A process that answers requests, one after the other; it is started again when one takes too long.

    Answers are kept in the folder that ZABCHECK_SECOND_BOOKS names, if it is set: campaigns that compare different
    products on the same protocols explore each once.
    """

    def __init__(self, seconds: float = 60.0) -> None:
        self.seconds = seconds
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Reference:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                if stream is not None:
                    stream.close()
            self.process = None

    def explore(self, request: Mapping[str, Any]) -> Book:
        """
        Raises:
            ReferenceFailed: it took too long, or failed; with its last line.
        """
        kept = kept_at(request)
        if kept is not None and kept.is_file():
            return Book(json.loads(zlib.decompress(kept.read_bytes())))
        line = self.answer(request)
        answer = json.loads(line)
        if "failed" in answer:
            raise ReferenceFailed(answer["failed"])
        if kept is not None:
            part = kept.with_name(f"{kept.name}.{os.getpid()}")
            part.write_bytes(zlib.compress(line.encode(), 1))
            part.replace(kept)
        return Book(answer)

    def answer(self, request: Mapping[str, Any]) -> str:
        """Return the line that the process answers with.

        Raises:
            ReferenceFailed: it took too long, or ended.
        """
        if self.process is None:
            command = [sys.executable, "-m", "tests.second.harness.server"]
            self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(dict(request)) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], self.seconds)
        if not ready:
            self.stop()
            raise ReferenceTooSlow(f"the reference took longer than {self.seconds:g} s")
        line = self.process.stdout.readline()
        if not line:
            self.stop()
            raise ReferenceFailed("it ended")
        return line


def kept_at(request: Mapping[str, Any]) -> Path | None:
    """Return the file that an answer is kept in, named by the request, the protocol's source and the reference's; None
    if answers are not kept."""
    folder = os.environ.get("ZABCHECK_SECOND_BOOKS")
    if not folder:
        return None
    path = Path(str(request["protocol"]))
    if not path.is_file():
        return None  # a protocol that comes with zabcheck has its source in more than one file
    text = json.dumps({**request, "protocol": path.read_text()}, sort_keys=True) + reference_text()
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) / hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def reference_text() -> str:
    """The source of the second explorer."""
    return "\n".join(path.read_text() for pattern in READS for path in sorted(ROOT.glob(pattern)))
