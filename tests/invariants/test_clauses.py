"""What each clause of the inductive invariant excludes: of states that are reachable but for a few of their entries, as
many as it always has.

The explorer confirms that a clause excludes no reachable state (`test_induct.py`). One that excludes less than it says
may be inductive with the others all the same, and nothing else would tell.
`pytest tests/invariants/test_clauses.py --rewrite` writes `data/clauses.json` anew; a change of it is to be explained.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from checker.explore.groups import groups_of
from invariants.proofs import CLAUSES
from invariants.registry import Property
from tests.failing import check_golden
from tests.models import compiled, walk
from tests.symbolic_states import fill
from zabspec.language import Role, Seq
from zabspec.model import Configuration

FILE = Path(__file__).parents[1] / "data" / "clauses.json"
CONFIGURATION = Configuration(timeouts=2, crashes=1, losses=1, max_epoch=3)
REACHED, ALTERED = 1500, 90_000
NEAR = 40  # how far apart two states of a walk may be, of which one is given a part of the other
GROUPS = [tuple(group) for group in groups_of(CLAUSES)]


@cache
def reached() -> list[bytes]:
    """Reachable states, as random walks meet them."""
    code = compiled(CONFIGURATION)
    return walk(code.model.program.initial().key(), code.next_states, code.layout.size, 5, REACHED)


def swapped(data: bytearray, kind: Seq, at: int, source: random.Random) -> bytes:
    """The state with two neighbours of the sequence at a place in each other's."""
    size = kind.element.size
    one = at + kind.header + source.randrange(data[at] - 1) * size
    data[one : one + 2 * size] = data[one + size : one + 2 * size] + data[one : one + size]
    return bytes(data)


@cache
def altered() -> list[bytes]:
    """Reachable states in which an entry or two are anything, or are those of another reachable state; in which all
    that is a process's is that of some process of one; or in which two neighbours of a sequence have changed places.
    Those which are reachable again are among them."""
    layout, source, states = compiled(CONFIGURATION).layout, random.Random(1), reached()
    fields = [f for f in layout.schema.fields if f.role not in (Role.SCRATCH, Role.BUDGET)]
    entries = [[(f.kind, at) for _, at in layout.elements(f.name)] for f in fields]
    of_process = [
        [(f.kind, at) for f in fields if f.node_axes for index, at in layout.elements(f.name) if index[0] == p]
        for p in range(layout.schema.nodes)
    ]
    sequences = [(kind, at) for several in entries for kind, at in several if isinstance(kind, Seq)]
    found: dict[bytes, None] = {}
    for _ in range(ALTERED):
        k = source.randrange(len(states))
        data, near = bytearray(states[k]), states[source.randrange(max(0, k - NEAR), min(len(states), k + NEAR))]
        how = source.choice(("anything", "anything", "entries", "process", "order"))
        if how == "order":
            several = [(kind, at) for kind, at in sequences if data[at] > 1]
            if several:
                found[swapped(data, *source.choice(several), source)] = None
            continue
        if how == "process":
            moved = zip(source.choice(of_process), source.choice(of_process), strict=True)
        else:
            chosen = [source.choice(source.choice(entries)) for _ in range(source.choice((1, 1, 2)))]
            moved = zip(chosen, chosen, strict=True)
        for (kind, at), (_, place) in moved:
            data[at : at + kind.size] = bytes(kind.size) if how == "anything" else near[place : place + kind.size]
            if how == "anything":
                fill(kind, source, data, at)
        found[bytes(data)] = None
    return list(found)


def excluded(clauses: tuple[Property, ...]) -> dict[str, int]:
    """How many of these states each of some clauses excludes."""
    code = compiled(CONFIGURATION, False, clauses)
    everything = (1 << len(clauses)) - 1
    assert not any(code.judged_state(data, everything)[0] for data in reached())
    counts = Counter(code.judged_state(data, everything)[0] for data in altered())
    return {c.name: sum(n for mask, n in counts.items() if mask >> k & 1) for k, c in enumerate(clauses)}


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("clauses", GROUPS, ids=lambda clauses: clauses[0].name)
def test_what_each_clause_excludes(clauses: tuple[Property, ...], pytestconfig: pytest.Config) -> None:
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    found = excluded(clauses)
    if pytestconfig.getoption("--rewrite"):
        known = {c.name: known.get(c.name) for c in CLAUSES} | found
        FILE.write_text(json.dumps(known, indent=1) + "\n")
    check_golden(FILE, {name: known.get(name) for name in found}, found)
    assert all(found.values())  # a clause that excludes nothing says nothing
