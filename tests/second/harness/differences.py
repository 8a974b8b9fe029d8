"""How an engine differs from the reference, in lines for a person; engines that step, compared state by state."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.second.harness.book import Book
from tests.second.harness.question import Question

MOST_SHOWN = 4


@dataclass
class Difference:
    """An engine and the reference differ.

    Attributes:
        engine: which.
        what: in a phrase, the same for differences of one kind.
        lines: all of it.
    """

    engine: str
    what: str
    lines: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join([f"{self.engine}: {self.what}", *(f"  {line}" for line in self.lines)])


@dataclass(frozen=True)
class Undecided:
    """An engine has no answer within its limits: neither a difference, nor the same.

    Attributes:
        why: in a sentence.
    """

    why: str


class Stepping(Protocol):
    """An engine that gives the successors of a state."""

    name: str
    knows_errors: bool

    def steps(self, state: bytes) -> tuple[list[tuple[str, bytes]], list[str]]:
        """The successors of a state with labels, and the labels of the steps that err."""


def stepwise(question: Question, book: Book, engine: Stepping) -> Difference | None:
    """Hold an engine against the reference: the initial states, and the successors of each reached state."""
    plain = question.plain
    starts = {plain.text(data): data for data in question.starts}
    if starts.keys() != {*book.starts}:
        return Difference(engine.name, "the initial states", apart(book.keys[0], next(iter(starts))))
    held: dict[int, bytes] = {book.number[text]: data for text, data in starts.items()}
    for k in book.expanded:
        if k not in held:
            continue  # it is missing behind another difference, which is told
        moves, errors = engine.steps(held[k])
        found: dict[str, set[str]] = {}
        for label, after in moves:
            text = plain.text(after)
            found.setdefault(text, set()).add(label)
            number = book.number.get(text)
            if number is not None:
                held.setdefault(number, after)
        wanted = book.steps(k)
        if found != wanted:
            return told(engine.name, book, k, wanted, found)
        erring, meant = set(errors), book.errors.get(k, set())
        if engine.knows_errors and bool(erring) != bool(meant):
            return Difference(
                engine.name, "which steps err", [f"{sorted(erring)} for {sorted(meant)}", *run_to(book, k)]
            )
    return None


def told(engine: str, book: Book, k: int, wanted: Mapping[str, set[str]], found: Mapping[str, set[str]]) -> Difference:
    """Successors that are missing, or that should not be."""
    missing = {t: labels for t, labels in wanted.items() if t not in found}
    added = {t: labels for t, labels in found.items() if t not in wanted}
    lines: list[str] = []
    for word, some in (("missing", missing), ("added", added)):
        for text, labels in list(some.items())[:MOST_SHOWN]:
            lines += [f"{word}: {', '.join(sorted(labels))}", *(f"  {line}" for line in apart(book.keys[k], text))]
    if not missing and not added:
        lines += [f"labels: {sorted(found[t])} for {sorted(wanted[t])}" for t in wanted if found[t] != wanted[t]]
    labels = sorted({name for some in (missing, added) for names in some.values() for name in names})
    what = f"successors: {len(missing)} missing, {len(added)} added ({', '.join(labels)})"
    what = what if labels else "labels of steps"
    return Difference(engine, what, [*lines, *run_to(book, k)])


def run_to(book: Book, k: int) -> list[str]:
    """The run to a state, step by step, and the state."""
    lines, before = ["the run:"], book.start_of(k)
    for label, after in book.path(k):
        changes = "; ".join(apart(book.keys[before], book.keys[after]))
        lines.append(f"  {label}: {changes[:300]}")
        before = after
    return [*lines, f"the state: {book.keys[k]}"]


def apart(one: str, other: str) -> list[str]:
    """Where two plain states differ, a line each."""
    return list(_apart("", json.loads(one), json.loads(other)))


def _apart(path: str, a: Any, b: Any) -> Iterable[str]:
    if a == b:
        return
    if isinstance(a, dict) and isinstance(b, dict) and "message" not in a and "message" not in b:
        for name in sorted(a.keys() | b.keys()):
            yield from _apart(f"{path}.{name}" if path else name, a.get(name), b.get(name))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and "in_flight" not in path:
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _apart(f"{path}[{k}]", x, y)
    else:
        yield f"{path}: {json.dumps(a)} -> {json.dumps(b)}"


def verdicts_differ(engine: str, book: Book, found: Mapping[str, tuple[str, int | None]]) -> Difference | None:
    """Hold verdicts, and the depths of violations and premises, against the reference's; a depth of None is not
    compared."""
    lines = []
    for name, (result, depth) in found.items():
        wanted = book.verdicts.get(name)
        if wanted is None:
            continue
        same = result == wanted["result"] and (depth is None or depth == wanted.get("depth"))
        if wanted["result"] == "held" and wanted.get("depth") is None:  # of which the reference has no witness
            same = result != "violated"
        if not same:
            lines.append(f"{name}: {result} at {depth}, for {wanted['result']} at {wanted.get('depth')}")
    if not lines:
        return None
    kinds = sorted(
        {f"{line.split(': ')[1].split(' at')[0]} for {line.split(', for ')[1].split(' at')[0]}" for line in lines}
    )
    return Difference(engine, f"verdicts: {', '.join(kinds)}", lines)
