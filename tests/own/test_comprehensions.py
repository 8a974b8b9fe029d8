"""Comprehensions, `any`, `all`, `sum`, `min`, `max` and sets, wherever an expression may be, as loops by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from checker.explore.symmetry import found_in
from invariants import properties_of
from tests.second.harness.question import Question
from tests.second.reference import explore
from zabspec.model import Configuration, Model

TEXT = '''"""Each tells others what it has."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY, NOTHING, AtMost, Each, Fields, Int, Maybe, MessageType, Node, SeqOf, SetOf, Size, action, any_of, broken,
    declare, is_quorum, processes, receives, safety, send, stored, volatile,
)  # fmt: skip

k = 5  # a constant that a comprehension hides


class TELL(MessageType):
    level: Annotated[int, Int(-1, 4)]
    known: set[Node]


class State(Fields):
    level: Each[Node, Annotated[int, Int(-1, 4)]] = stored("how far")
    last: Each[Node, Annotated[int, Maybe(Int(0, 4))]] = stored("what it heard last")
    chief: Each[Node, Node] = stored("whom it follows")
    heard: Each[Node, set[Node]] = volatile("whom it has heard of")
    slots: Each[Node, Annotated[set[int], SetOf(5)]] = stored("what it keeps")
    log: Each[Node, Annotated[SeqOf[Annotated[int, Int(0, 4)]], AtMost(3)]] = stored("what it heard")


def may(s: State, p: Node) -> bool:
    return not any(x > 1 for x in s.log[p]) and s.level[p] < 3


@action(when=may, budget="tells")
def tell(s: State, p: Node) -> None:
    q = any_of(s, {q for q in processes(s) if q != p or all(r != q for r in s.heard[p])})
    s.level[p] += min(2, max((x for x in s.log[p] if x != 2), default=0), 1) + 1
    to = any_of(s, {r for r in processes(s) if r == q})
    send(s, p, to, TELL(level=s.level[p], known={r for r in range(s.NODES) if r in s.heard[p] or r == p}))


@receives
def on_tell(s: State, p: Node, source: Node, m: TELL) -> None:
    voters = {q for q in range(s.NODES) if q in m.known or q in s.heard[p]}
    if len(s.log[p]) < 3 and not (m.level < 0 or all(x < m.level for x in s.log[p]) and is_quorum(s, voters)):
        s.log[p].append(abs(0 - m.level))
    s.last[p] = abs(m.level)
    s.slots[p] = {k for k in range(5) if k in s.slots[p] or k == m.level}
    s.chief[p] = source if any(q in s.heard[p] for q in m.known) else NOBODY
    for q in voters:
        s.heard[p].add(q)


def on_crash(s: State, p: Node) -> None:
    s.heard[p].clear()
    s.level[p] = k - 6 if sum(x + 1 for x in s.log[p]) == 2 else 0


def heard(s: State) -> bool:
    """A message was heard."""
    return any(len(s.log[p]) > 1 for p in range(s.NODES))


@safety(witness=heard)
def few(s: State) -> bool:
    """No more than two were heard."""
    return all(len(s.log[p]) < 3 for p in range(s.NODES))


PROTOCOL = declare(__name__, budgets={"tells": 2, "crashes": 1})
'''
# each comprehension, and the loop that it stands for, which leaves its result in `x`
SAME = """
any(q in s.heard[p] for q in range(s.NODES))
    x = False
    for q in range(s.NODES):
        if q in s.heard[p]:
            x = True
all(q in s.heard[p] for q in processes(s))
    x = True
    for q in range(s.NODES):
        if q not in s.heard[p]:
            x = False
any(v == 9 for v in s.log[p])
    x = False
    for v in s.log[p]:
        if v == 9:
            x = True
all(v < 2 for v in s.log[p])
    x = True
    for v in s.log[p]:
        if v >= 2:
            x = False
any(k == 1 for k in s.slots[p])
    x = 1 in s.slots[p]
any(k == s.level[q] for k in range(3) if k > 0 for q in s.heard[p])
    x = False
    for i in range(1, 3):
        for q in s.heard[p]:
            if i == s.level[q]:
                x = True
sum(v for v in s.log[p])
    x = 0
    for v in s.log[p]:
        x += v
sum(s.log[p])
    x = 0
    for v in s.log[p]:
        x += v
sum(1 for q in range(s.NODES) if s.level[q] > 0)
    x = 0
    for q in range(s.NODES):
        if s.level[q] > 0:
            x += 1
len({q for q in range(s.NODES) if s.level[q] > 0})
    x = 0
    for q in range(s.NODES):
        if s.level[q] > 0:
            x += 1
max((v for v in s.log[p]), default=-5)
    x = -5
    for v in s.log[p]:
        if v > x:
            x = v
min((s.level[q] for q in s.heard[p]), default=9)
    x = 9
    for q in s.heard[p]:
        if s.level[q] < x:
            x = s.level[q]
min((v for v in s.log[p]), default=0)
    x = 9
    for v in s.log[p]:
        x = min(x, v)
    if x == 9:
        x = 0
max((s.level[p] for v in s.log[p]), default=2)
    x = 2
    for v in s.log[p]:
        x = s.level[p]
max(s.level[p], 1, 2 - s.level[p])
    x = max(s.level[p], max(1, 2 - s.level[p]))
abs(s.level[p] - 2)
    x = 2 - s.level[p]
    if x < 0:
        x = 0 - x
"""


def written(folder: Path, *changes: tuple[str, str]) -> str:
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "tells.py").write_text(text)
    return str(folder / "tells.py")


def property_of(name: str, body: str) -> str:
    return f'@safety(witness=heard)\ndef {name}(s: State) -> bool:\n    """It is so."""\n{body}\n\n\nPROTOCOL'


def same_as_a_loop() -> str:
    """The properties that a comprehension and the loop it stands for agree, of every process."""
    text = ""
    for k, (expression, loop) in enumerate(re.findall(r"(?m)^(\S.*)\n((?:    .*\n)+)", SAME)):
        kind = "bool" if expression.startswith(("any", "all")) else "int"
        text += f"def loop_{k}(s: State, p: Node) -> {kind}:\n{loop}    return x\n\n\n"
        body = f'    return all({expression} == loop_{k}(s, p) or broken(f"p{{p}}") for p in range(s.NODES))'
        text += property_of(f"same_{k}", body).removesuffix("PROTOCOL")
    return text + "PROTOCOL"


def question(path: str) -> dict[str, object]:
    budgets = {"tells": 2, "crashes": 1}
    return {"protocol": path, "nodes": 2, "network": "datagrams", "budgets": budgets, "properties": []}


def test_every_state_is_the_second_semantics(tmp_path: Path) -> None:
    """As many states, by the compiled and the interpreted search, as the second semantics reaches; and fewer orbits."""
    path = written(tmp_path)
    plain = explore(question(path))
    asked = Question(question(path))
    every = Interpreter(asked.model, (), False, every_step=True).run(Limits(), False)
    assert plain["complete"]
    assert len(plain["states"]) == sum(every.levels) > 300
    whole = ["--no-symmetry", "--reduction", "none", "--no-trace"]
    found = CliRunner().invoke(main, ["--protocol", path, "--nodes", "2", *whole])
    assert f"distinct states        {sum(every.levels)}\n" in found.stdout
    model = Model(Configuration(protocol=path, nodes=3))
    assert found_in(model, properties_of(path)) == []


@pytest.mark.parametrize("engine", ["interpret", "compiled"])
def test_each_is_what_the_loop_is(engine: str, tmp_path: Path) -> None:
    path = written(tmp_path, ("PROTOCOL", same_as_a_loop()))
    found = CliRunner().invoke(main, ["--protocol", path, "--nodes", "2", "--engine", engine, "--no-trace"])
    assert found.exit_code == 0, found.output
    count = len(re.findall(r"(?m)^\S", SAME))
    held = r"(?m)^same-\d+ +(?:holds, witnessed|not put to the test: it can never be False)"
    assert len(re.findall(held, found.stdout)) == count


@pytest.mark.parametrize("engine", ["interpret", "compiled"])
@pytest.mark.parametrize(
    "body",
    [
        '    return all(s.level[p] < 2 or broken(f"p{p} is at {s.level[p]}") for p in range(s.NODES))',
        "    return all(lower(s, p) for p in processes(s))",
    ],
)
def test_the_sentence_of_the_first_counterexample_is_kept(engine: str, body: str, tmp_path: Path) -> None:
    low = 'def lower(s: State, p: Node) -> bool:\n    return s.level[p] < 2 or broken(f"p{p} is at {s.level[p]}")\n\n\n'
    path = written(tmp_path, ("PROTOCOL", f"{low}{property_of('lows', body)}"))
    found = CliRunner().invoke(main, ["--protocol", path, "--nodes", "2", "--engine", engine])
    assert found.exit_code == 1
    assert re.search(r"p[01] is at 2\.", found.stdout)


@pytest.mark.parametrize("engine", ["interpret", "compiled"])
@pytest.mark.parametrize(
    ("test", "errs"),
    [
        ("any(6 // (x - x) == 1 for x in s.log[p] if x > 7)", False),  # none is tested
        ("s.level[p] > 9 and any(6 // (q - q) == 1 for q in range(2))", False),  # it is not evaluated
        ("any(x >= 0 or 6 // (x - x) == 1 for x in s.log[p])", False),
        ("any(x >= 0 and 6 // (x - x) == 1 for x in s.log[p])", True),
        ("len(s.log[p]) > 0 and sum(6 // (x - x) for x in s.log[p]) == 1", True),
        ("len(s.log[p]) > 0 and max((x for x in range(3) if 6 // (x - x) == 1), default=0) == 1", True),
    ],
)
def test_an_error_is_met_where_python_meets_it(engine: str, test: str, errs: bool, tmp_path: Path) -> None:
    body = f"    for p in range(s.NODES):\n        if {test}:\n            return False\n    return True"
    path = written(tmp_path, ("PROTOCOL", property_of("errs", body)))
    found = CliRunner().invoke(main, ["--protocol", path, "--nodes", "2", "--engine", engine, "--no-trace"])
    assert found.exit_code in (0, 1)
    assert ("would be divided by zero" in found.stdout) == errs, found.output


@pytest.mark.parametrize("again", ["x = 50", "for x in range(50):\n            x += 0"])
def test_a_name_with_another_value_bounds_no_set(again: str, tmp_path: Path) -> None:
    """By the loop's bound a set of `range(x)` would have room for three, and 49 would not be in it."""
    begin = "    to = any_of("
    path = written(
        tmp_path,
        (begin, f"    for x in range(3):\n        {again}\n        s.slots[p] = {{j for j in range(x)}}\n{begin}"),
    )
    found = CliRunner().invoke(main, ["--protocol", path, "--nodes", "2", "--no-trace"])
    assert (found.exit_code, found.stdout) == (2, "")
    assert "bound must follow from the configuration" in found.stderr
