"""A sum that can leave 64 bits by its ranges is refused with its line, in every engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main

TEXT = """from __future__ import annotations
from typing import Annotated
from zabcheck.language import Each, Fields, Int, Node, RecordType, action, declare, safety, stored, choose
HUGE = 2**62
class Pair(RecordType):
    one: Annotated[int, Int(5, 5)]
    a: Annotated[int, Int(0, HUGE // 2)]
    two: Annotated[int, Int(-7, -7)]
class State(Fields):
    x: Each[Node, Annotated[int, Int(0, 3)]] = stored("x")
    load: Each[Node, Annotated[int, Int(0, HUGE)]] = stored("load")
    pair: Each[Node, Pair] = stored("pair")
    debt: Each[Node, Annotated[int, Int(-HUGE, 0)]] = stored("debt")
    side: Each[Node, Annotated[int, Int(0, 2**31)]] = stored("side")
    least: Each[Node, Annotated[int, Int(-HUGE - HUGE + 1, 0)]] = stored("least")
@action(budget="begins")
def begin(s: State, p: Node) -> None:
    BODY
def plus(a: int, b: int) -> int:
    return a + b
def shared(a: int) -> int:
    return a + a
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
    return shared(1) == 2
PROTOCOL = declare(__name__, nodes=1, budgets={"begins": 1})
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
    "in a comparison of two that are the same": "(1 if s.load[p] + s.load[p] == s.load[p] + s.load[p] else 0)",
    "behind a test of a field with one value": "(s.load[p] + s.load[p] if s.pair[p].two == -7 else 0)",
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
QUOTIENTS_THAT_LEAVE = {
    "of a field": "(s.least[0] - 1) // s.debt[0]",
    "by a constant": "(s.least[0] - 1) // -1",
    "of a constant": "(-HUGE - HUGE) // s.debt[0]",
}
QUOTIENTS_THAT_STAY = {
    "of a field": "s.least[0] // -1",
    "by a divisor below -1": "(s.least[0] - 1) // (s.x[0] - 5)",
    "of a constant": "(-HUGE - HUGE) // (s.x[0] + 1)",
    "a rest": "s.least[0] % -1",
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


def written(folder: Path, body: str, holds: str = "shared(1) == 2") -> str:
    (folder / "mine.py").write_text(TEXT.replace("BODY", body).replace("shared(1) == 2", holds))
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


@pytest.mark.parametrize(
    "words", [[], ["bmc", "--depth", "1"], ["simulate", "--check"], ["--engine", "interpret"]], ids=str
)
def test_a_helper_is_checked_for_all_that_it_is_called_with(folder: Path, words: list[str]) -> None:
    """The property, which is typed before the step by some engines, calls it with less."""
    path = written(folder, "if shared(s.load[p]) > 5:\n        s.x[p] = 2")
    result = CliRunner().invoke(main, [*words, "--protocol", path])
    assert (result.exit_code, "a sum here can be 9223372036854775808" in result.stderr) == (2, True)


@pytest.mark.parametrize("name", QUOTIENTS_THAT_LEAVE)
def test_a_quotient_that_can_leave_64_bits_is_refused(folder: Path, name: str) -> None:
    """It does only for -2**63 // -1, at which a machine's division ends the process."""
    path = written(folder, "s.x[p] = 2", f"{QUOTIENTS_THAT_LEAVE[name]} > -5")
    result = CliRunner().invoke(main, ["--protocol", path, "--engine", "interpret"])
    assert (result.exit_code, "a quotient here can be 9223372036854775808" in result.stderr) == (2, True)


@pytest.mark.parametrize("name", QUOTIENTS_THAT_STAY)
@pytest.mark.parametrize("words", [[], ["bmc", "--depth", "1"], ["--engine", "interpret"]], ids=str)
def test_a_quotient_that_stays_is_accepted(folder: Path, words: list[str], name: str) -> None:
    path = written(folder, "s.x[p] = 2", f"{QUOTIENTS_THAT_STAY[name]} != -5")
    result = CliRunner().invoke(main, [*words, "--protocol", path])
    assert result.exit_code == 0, result.output


REST = """from __future__ import annotations
from typing import Annotated

from zabcheck.language import Each, Fields, Int, Node, Size, action, declare, safety, stored
LOW = -2**63


class State(Fields):
    least: Each[Node, Annotated[int, Int(-9223372036854775808, -4611686018427387904)]] = stored("least")
    by: Each[Node, Annotated[int, Int(-1, 9)]] = stored("by")


@action(budget="begins")
def begin(s: State, p: Node) -> None:
    s.least[p] = LOW
    s.by[p] = -1
def begun(s: State) -> bool:
    \"\"\"One has begun.\"\"\"
    return s.begins_left == 0
@safety(witness=begun)
def small(s: State) -> bool:
    \"\"\"One has begun and there is no rest.\"\"\"
    return s.begins_left == 1 or s.least[0] % BY != 0
PROTOCOL = declare(__name__, nodes=1, budgets={"begins": 1})
"""


@pytest.mark.parametrize("by", ["s.by[0]", "-1"])
@pytest.mark.parametrize("words", [[], ["bmc", "--depth", "1"], ["--engine", "interpret"]], ids=str)
def test_the_least_number_by_minus_one_leaves_no_rest(folder: Path, words: list[str], by: str) -> None:
    """A machine's division has no result for it, and ends the process."""
    (folder / "rest.py").write_text(REST.replace("BY", by))
    command = [
        sys.executable,
        "-c",
        "from checker.cli import main; main()",
        *words,
        "--protocol",
        str(folder / "rest.py"),
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, "VIOLATED" in ended.stdout) == (1, True), ended.stderr


@pytest.mark.parametrize("low", ["-LOW", "abs(LOW)", "default()"])
def test_a_negated_constant_is_a_number_of_64_bits(folder: Path, low: str) -> None:
    text = TEXT.replace("HUGE = 2**62", "HUGE = 2**62\nLOW = -2**63\ndef default(a: int = 2**64) -> int:\n    return a")
    (folder / "mine.py").write_text(text.replace("BODY", f"if s.x[p] < {low}:\n        s.x[p] = 1"))
    result = CliRunner().invoke(main, ["--protocol", str(folder / "mine.py")])
    assert (result.exit_code, "does not fit 64 bits" in " ".join(result.stderr.split())) == (2, True)


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
