"""A sum that can leave 64 bits by its ranges is refused with its line, in every engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REST = """from __future__ import annotations
from typing import Annotated

from zabcheck.language import Each, Fields, Range, Node, Size, action, declare, safety, stored
LOW = -2**63


class State(Fields):
    least: Each[Node, Annotated[int, Range(-9223372036854775808, -4611686018427387904)]] = stored("least")
    by: Each[Node, Annotated[int, Range(-1, 9)]] = stored("by")


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


EACH = """from click.testing import CliRunner
from checker.cli import main
for words in ([], ["bmc", "--depth", "1"], ["--engine", "interpret"]):
    for name in ("field.py", "constant.py"):
        ended = CliRunner().invoke(main, [*words, "--protocol", name])
        assert (ended.exit_code, "VIOLATED" in ended.stdout) == (1, True), ended.output
"""


def test_the_least_number_by_minus_one_leaves_no_rest(folder: Path) -> None:
    """A machine's division has no result for it, and ends the process."""
    for name, by in (("field", "s.by[0]"), ("constant", "-1")):
        (folder / f"{name}.py").write_text(REST.replace("BY", by))
    ended = subprocess.run([sys.executable, "-c", EACH], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
