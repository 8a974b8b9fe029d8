"""A sum that can leave 64 bits by its ranges is refused with its line, in every engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main

TEXT = """from __future__ import annotations
from zabcheck.language import Field, Int, Node, Record, Size, State, action, declare, safety, stored
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
}
STAYS = {
    "a sum": "s.load[p] + s.side[p]",
    "with a constant": "HUGE - 1 + s.load[p]",
    "a difference": "s.load[p] - s.load[p] - s.load[p]",
    "of products": "s.side[p] * s.side[p] + s.side[p] - 1",
    "of the smaller": "min(s.load[p], s.side[p]) + s.load[p]",
}


def written(folder: Path, body: str) -> str:
    (folder / "mine.py").write_text(TEXT.replace("BODY", body))
    return str(folder / "mine.py")


@pytest.mark.parametrize("name", LEAVES)
def test_a_sum_that_can_leave_64_bits_is_refused(folder: Path, name: str) -> None:
    path = written(folder, f"if {LEAVES[name]} < 0:\n        s.x[p] = 3")
    result = CliRunner().invoke(main, ["--protocol", path, "--engine", "interpret"])
    assert (
        result.exit_code,
        "which does not fit 64 bits: declare a smaller range" in " ".join(result.stderr.split()),
    ) == (2, True)


@pytest.mark.parametrize("name", STAYS)
def test_a_sum_that_stays_within_64_bits_is_accepted(folder: Path, name: str) -> None:
    path = written(folder, f"if {STAYS[name]} < 0:\n        s.x[p] = 2")
    assert CliRunner().invoke(main, ["--protocol", path, "--engine", "interpret"]).exit_code == 0


@pytest.mark.parametrize("words", [[], ["bmc", "--depth", "1"], ["induct"], ["simulate"], ["lint"]], ids=str)
def test_every_engine_refuses_it(folder: Path, words: list[str]) -> None:
    path = written(folder, "s.load[p] = HUGE\n    if s.load[p] + s.load[p] > 0:\n        s.x[p] = 3")
    result = CliRunner().invoke(main, [*words, *([] if words == ["lint"] else ["--protocol"]), path])
    assert (result.exit_code, "does not fit 64 bits" in " ".join(result.output.split())) == (
        1 if words == ["lint"] else 2,
        True,
    )
