"""`python -m tests.mutants.table LOG...`: print rows of the tables of benchmarks/results/mutants.json.

The logs are those that `--json` wrote. The rows are of `judged`, then of `survivors`, without campaign and reason.

A mutant judged in several of the logs counts as the last one says. Lines are told as they are numbered now.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from .__main__ import key_of
from .campaign import ROOT
from .edits import mutants_of
from .killers import LAST

Entry = dict[str, Any]
WAYS = ("tests", "premise or violation", "counts alone", "front end", "import", "time or crash")


def way(entry: Entry) -> str:
    """What killed a mutant, in the words of the table's head."""
    if entry["how"] == "rejected":
        return "front end"
    if entry["how"] == "import":
        return "import"
    if entry["how"] in ("out of time", "crashed"):
        return "time or crash"
    if any(word in entry["test"] for word in (*LAST, "test_clauses")):
        return "counts alone"
    return "premise or violation" if "test_premises_and_violations" in entry["test"] else "tests"


@cache
def numbers(path: str) -> dict[tuple[object, ...], int]:
    """Where each mutant of a file begins now."""
    return {m.key: m.at for m in reversed(mutants_of(path, (ROOT / path).read_text(encoding="utf-8")))}


def entries(logs: Sequence[str]) -> dict[str, list[Entry]]:
    """What was judged, by file, in the order of its lines."""
    last: dict[tuple[object, ...], Entry] = {}
    for log in logs:
        lines = Path(log).read_text(encoding="utf-8").splitlines()
        seen: Counter[tuple[object, ...]] = Counter()
        for e in sorted(map(json.loads, lines), key=lambda e: int(e["line"])):
            last[*key_of(e), seen[key_of(e)]] = e  # of two lines of a function that are alike, the first and the second
            seen[key_of(e)] += 1
    out: dict[str, list[Entry]] = {}
    for e in last.values():
        out.setdefault(e["file"], []).append(e)
    return {path: sorted(some, key=lambda e: int(e["line"])) for path, some in out.items()}


def row(path: str, judged: Sequence[Entry]) -> list[str | int]:
    there_are = max(len(judged), len(numbers(path)))
    by = Counter(way(e) for e in judged if e["how"] != "survived")
    survived = sum(e["how"] == "survived" for e in judged)
    ways = [by[name] for name in WAYS]
    return [path, f"{len(judged)} of {there_are}", len(judged) - survived, survived, *ways]


def survivor(e: Entry) -> list[str | int]:
    words = [" ".join(e[part].split()) for part in ("before", "after")]
    within = "" if e["words"] == words[0] else f" in `{e['words']}`"
    line = numbers(e["file"]).get(key_of(e), e["line"])
    return [e["file"], line, f"`{words[0]}` → `{words[1]}`{within}"]


def main(logs: Sequence[str]) -> None:
    files = entries(logs)
    survivors = [survivor(e) for judged in files.values() for e in judged if e["how"] == "survived"]
    for cells in (*(row(path, judged) for path, judged in files.items()), *survivors):
        print(json.dumps(cells, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1:])
