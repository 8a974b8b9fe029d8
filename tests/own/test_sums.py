"""A sum that can leave 64 bits by its ranges is refused with its line, in every engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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
