"""A sum that can leave 64 bits by its ranges is refused with its line, in every engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main

TEXT = """from __future__ import annotations
from zabcheck.language import Field, Int, Node, Record, Size, State, action, declare, safety, stored, choose
HUGE = 2**62
def types(size: Size) -> dict[str, Record]:
    return {"Pair": Record("Pair", {"a": Int(0, HUGE // 2)})}
def state(size: Size) -> list[Field]:
    pair = types(size)["Pair"]
    return [stored("x", Int(0, 3), "x"), stored("load", Int(0, HUGE), "load"), stored("pair", pair, "pair"),
            stored("debt", Int(-HUGE, 0), "debt"), stored("side", Int(0, 2**31), "side")]
@action(budget="begins")
def begin(s: State, p: Node) -> None:
    BODY
def plus(a: int, b: int) -> int:
    return a + b
def half(s: State, p: Node) -> int:
    return s.load[p] // 2
def loads(s: State, p: Node) -> int:
    n = 0
    for q in range(3):
        n += s.load[p] // 2
    return n
def begun(s: State) -> bool:
    \"\"\"One has begun.\"\"\"
    return s.begins_left == 0
@safety(witness=begun)
def small(s: State) -> bool:
    \"\"\"x is never 3.\"\"\"
    for p in range(s.NODES):
        if s.x[p] == 3:
            return False
    return True
PROTOCOL = declare(__name__, state=state, types=types, nodes=1, budgets={"begins": 1})
"""
LEAVES = {
    "a sum": "s.load[p] + s.load[p]",
    "with a constant": "s.load[p] + HUGE",
    "a difference": "s.debt[p] - s.load[p] - HUGE",
    "of products": "s.side[p] * s.side[p] + s.side[p] * s.side[p]",
    "of a choice": "(s.load[p] if s.x[p] == 0 else s.side[p]) + s.load[p]",
    "of the larger": "max(s.load[p], s.side[p]) + s.load[p]",
    "of parts of records": "s.pair[p].a + s.load[p] + s.load[p]",
    "of three": "s.side[p] + s.load[p] + s.load[p]",
    "of a result": "half(s, p) + half(s, p) + s.load[p]",
    "of a result that is gathered": "loads(s, p) + s.load[p]",
    "in a helper": "plus(s.load[p], s.load[p])",
    "in a helper, at the second call": "plus(1, 2) + plus(s.load[p], HUGE)",
}
LEAVES_BY_NAME = {
    "a name": "x = s.load[p]\n    x = x + x",
    "a name of either side": "x = 0\n    if s.x[p] == 0:\n        x = s.load[p]\n    x = x + s.load[p]",
    "gathered in a loop": "x = 1\n    for q in range(8):\n        x += s.load[p]",
    "doubled in a loop": "x = 1\n    for q in range(63):\n        x += x",
    "doubled in two loops": "x = 1\n    for q in range(8):\n        for r in range(8):\n            x += x",
    "behind a break": "x = 1\n    for q in range(64):\n        x += x\n        if s.x[p] == 1:\n            break",
    "left by continue": (
        "x = 1\n    for q in range(64):\n        x -= s.side[p] * s.side[p]\n        if x < 0:\n            continue"
    ),
}
STAYS = {
    "a sum": "s.load[p] + s.side[p]",
    "with a constant": "HUGE - 1 + s.load[p]",
    "a difference": "s.load[p] - s.load[p] - s.load[p]",
    "of products": "s.side[p] * s.side[p] + s.side[p] - 1",
    "of the smaller": "min(s.load[p], s.side[p]) + s.load[p]",
    "of results": "half(s, p) + half(s, p)",
    "in a helper": "plus(s.load[p], plus(s.side[p], 5))",
    "of a process": "(p + 1) % s.NODES + s.load[p]",
    "of what is chosen": "choose(s, 3) + s.load[p]",
    "of a quotient": "s.load[p] // 2 + s.load[p] % 7",
}
STAYS_BY_NAME = {
    "a name": "x = s.load[p]\n    x = x + s.side[p]",
    "counted": "x = s.load[p]\n    for q in range(100):\n        for r in range(q):\n            x += 1",
    "doubled in a loop": "x = 1\n    for q in range(62):\n        x += x",
    "gathered": "x = 0\n    for q in range(s.NODES):\n        x = x + s.load[p]",
}


def written(folder: Path, body: str) -> str:
    (folder / "mine.py").write_text(TEXT.replace("BODY", body))
    return str(folder / "mine.py")


def statement(texts: dict[str, str], by_name: dict[str, str], name: str) -> str:
    return f"if {texts[name]} < 0:\n        s.x[p] = 2" if name in texts else by_name[name]


@pytest.mark.parametrize("name", [*LEAVES, *LEAVES_BY_NAME])
def test_a_sum_that_can_leave_64_bits_is_refused(folder: Path, name: str) -> None:
    path = written(folder, statement(LEAVES, LEAVES_BY_NAME, name))
    result = CliRunner().invoke(main, ["--protocol", path, "--engine", "interpret"])
    assert (
        result.exit_code,
        "which does not fit 64 bits: declare a smaller range" in " ".join(result.stderr.split()),
    ) == (2, True)


@pytest.mark.parametrize("name", [*STAYS, *STAYS_BY_NAME])
def test_a_sum_that_stays_within_64_bits_is_accepted(folder: Path, name: str) -> None:
    path = written(folder, statement(STAYS, STAYS_BY_NAME, name))
    for words in ([], ["simulate"]):
        result = CliRunner().invoke(main, [*words, "--protocol", path, "--engine", "interpret"])
        assert result.exit_code == 0, result.output


@pytest.mark.parametrize("words", [[], ["bmc", "--depth", "1"], ["induct"], ["simulate"], ["lint"]], ids=str)
def test_every_engine_refuses_it(folder: Path, words: list[str]) -> None:
    path = written(folder, "s.load[p] = HUGE\n    if s.load[p] + s.load[p] > 0:\n        s.x[p] = 3")
    result = CliRunner().invoke(main, [*words, *([] if words == ["lint"] else ["--protocol"]), path])
    assert (result.exit_code, "does not fit 64 bits" in " ".join(result.output.split())) == (
        1 if words == ["lint"] else 2,
        True,
    )


def test_a_property_has_no_while_either(folder: Path) -> None:
    """Its sums would have no bound."""
    path = folder / "mine.py"
    path.write_text(TEXT.replace("BODY", "s.x[p] = 2").replace("for p in range(s.NODES)", "while s.x[0] > 1"))
    result = CliRunner().invoke(main, ["--protocol", str(path)])
    assert (result.exit_code, "a protocol has no `while`" in result.output) == (2, True)
