"""A name in a user protocol is Python's builtin, the language's word or a constant by type, or it is refused."""

from __future__ import annotations

import re
from enum import IntEnum
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from zabspec.language.python.meanings import constant

TEXT = """from __future__ import annotations
from enum import IntEnum, IntFlag
import functools, operator, types
from zabcheck.language import Field, Int, Node, Size, State, action, broken, choose, declare, is_quorum, safety, stored
class Least(int):
    def __le__(self, other: int) -> bool:
        return True
HERE
def state(size: Size) -> list[Field]:
    return [stored("x", Int(0, 3), "x")]
@action(budget="begins")
def begin(s: State, p: Node) -> None:
    s.x[p] = VALUE
def begun(s: State) -> bool:
    \"\"\"One has begun.\"\"\"
    return s.begins_left == 0
@safety(witness=begun)
def small(s: State) -> bool:
    \"\"\"x is at most 1.\"\"\"
    for p in range(s.NODES):
        if s.x[p] == 2:
            return broken(f"p{p}")
    return True
PROTOCOL = declare(__name__, state=state, nodes=2, budgets={"begins": 1})
"""
CALL = "min(1, 2)"
SIZE = "len({q for q in range(s.NODES) if q == p})"
NOT_PYTHONS = "min is .* here, not Python's own: rename it"
NO_CONSTANT = "a constant is an int, a bool or a member of an IntEnum"
# What stands in the module, what is stored, and what is said; `beside.py` has what follows a line `# beside`.
REFUSED = {
    "rebound": ("min = max", CALL, NOT_PYTHONS),
    "imported as": ("from operator import add as min", CALL, NOT_PYTHONS),
    "imported from beside": ("from beside import min\n# beside\nmin = max", CALL, NOT_PYTHONS),
    "imported by a star": ("from beside import *\n# beside\nmin = max", CALL, NOT_PYTHONS),
    "in what it imports": ("from beside import pick\n# beside\nfrom zabcheck.language import State\nmin = max\n"
                           "def pick(s: State) -> int:\n    return min(1, 2)", "pick(s)", NOT_PYTHONS),
    "through globals": ("globals()['min'] = max", CALL, NOT_PYTHONS),
    "a partial": ("min = functools.partial(max, 2)", CALL, NOT_PYTHONS),
    "a class": ("class min:\n    def __new__(cls, a, b):\n        return 2", CALL, NOT_PYTHONS),
    "an instance": ("class M:\n    def __call__(self, a, b):\n        return 2\nmin = M()", CALL, NOT_PYTHONS),
    "a lambda": ("min = lambda a, b: 2", CALL, "min is a word of the language"),
    "a cached function": ("len = functools.cache(lambda of: 2)", SIZE, "len is .* here, not Python's own"),
    "range": ("range = functools.partial(operator.getitem, [(), (), ()])", SIZE, "range is .* here, not Python's own"),
    "own builtins": ("__builtins__ = {**vars(__import__('builtins')), 'min': max}", CALL, NOT_PYTHONS),
    "changed builtins": ("import builtins\nbuiltins.min = max", CALL, "it changes Python's builtins: min"),
    "a word wrapped": ("@functools.wraps(is_quorum)\ndef is_quorum(s: State, m: object) -> bool:\n    return True",
                       "2 if is_quorum(s, {p}) else 1", "is_quorum is .* here, not the language's own"),
    "a word of the world": ("choose = functools.partial(max, 2)", "choose(s, 2)", "choose is .* here, and the"),
    "not imported": ("", "ELECTION_TIMER", "ELECTION_TIMER is not imported"),
    "local": ("", f"1\n    min = 3\n    s.x[p] = {CALL}", "min is a local name here, and cannot be called"),
    "local later": ("", f"{CALL}\n    min = 3", "min is a local name here, and cannot be called"),
    "local in a set": ("", "len({min for min in range(s.NODES) if min(1, 2) == 1})", "min is a local name here"),
    "constant, then local": ("K = 1", "K\n    K = 2", "K cannot have a value here"),
    "a subclass": ("K = Least(3)", "2 if K <= 1 else 1", NO_CONSTANT),
    "of a tuple": ("J, K = Least(3), 2", "2 if 1 in (J, K) else 1", NO_CONSTANT),
    "imported": ("from beside import K\n# beside\nclass Most(int): pass\nK = Most(2)", "K", NO_CONSTANT),
    "instead of the world's": ("ELECTION_TIMER = Least(2)", "ELECTION_TIMER", NO_CONSTANT),
    "an enumeration that compares": ("class E(IntEnum):\n    A = 3\n    def __le__(self, other):\n        return True\n"
                                     "K = E.A", "2 if K <= 1 else 1", NO_CONSTANT),
    "an enumeration of another's": ("class M:\n    def __add__(self, other):\n        return 2\n"
                                    "class E(M, IntEnum):\n    A = 1\nK = E.A", "K + 0", NO_CONSTANT),
    "flags": ("class E(IntFlag):\n    A = 1\nK = E.A", "K", NO_CONSTANT),
}  # fmt: skip
ACCEPTED = {
    "plain": ("", CALL, 0),
    "deleted": ("min = max\ndel min", CALL, 0),
    "the builtin under its name": ("from builtins import min", CALL, 0),
    "an enumeration": ("class E(IntEnum):\n    A = 2\nK = E.A", "K", 1),
    "a truth value": ("K = True", "2 if K else 1", 1),
    "another function under its name": (
        "def step(s: State, p: Node) -> int:\n    return 2\npick = step",
        "pick(s, p)",
        1,
    ),
}


def written(folder: Path, here: str, value: str, text: str = TEXT) -> str:
    here, _, beside = here.partition("# beside\n")
    (folder / "beside.py").write_text(beside)
    (folder / "mine.py").write_text(text.replace("HERE", here).replace("VALUE", value))
    return str(folder / "mine.py")


@pytest.mark.parametrize("name", REFUSED)
def test_another_object_under_a_known_name_is_refused_with_its_line(folder: Path, name: str) -> None:
    here, value, said = REFUSED[name]
    result = CliRunner().invoke(main, ["--protocol", written(folder, here, value), "--engine", "interpret"])
    assert (result.exit_code, bool(re.search(rf"\.py(:\d+)?: .*{said}", result.stderr))) == (2, True), result.stderr
    assert min(1, 2) == 1


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_object_itself_is_accepted(folder: Path, name: str) -> None:
    here, value, code = ACCEPTED[name]
    result = CliRunner().invoke(main, ["--protocol", written(folder, here, value), "--engine", "interpret"])
    assert result.exit_code == code, result.stderr


@pytest.mark.parametrize("words", [[], ["bmc", "--depth", "2"], ["induct"], ["simulate"], ["lint"]], ids=str)
@pytest.mark.parametrize("name", ["rebound", "a subclass"])
def test_every_engine_refuses_it(folder: Path, words: list[str], name: str) -> None:
    path = written(folder, *REFUSED[name][:2])
    result = CliRunner().invoke(main, [*words, *([] if words == ["lint"] else ["--protocol"]), path])
    assert result.exit_code == (1 if words == ["lint"] else 2)
    assert re.search(REFUSED[name][2], " ".join(result.output.split()))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("nodes=2", "nodes=True"), ("nodes=2", "nodes=Least(2)"), ('"begins": 1', '"begins": True'),
        ('"begins": 1', '"begins": Least(1)'), ("Int(0, 3)", "Int(0, True)"), ("Int(0, 3)", "Int(Least(0), 3)"),
        ('"x")]', '"x", True)]'), ("nodes=2", "nodes=2, unforced=True"), ("nodes=2", "nodes=2, drift=True"),
    ],
)  # fmt: skip
def test_a_number_that_is_declared_is_one_by_its_type(folder: Path, old: str, new: str) -> None:
    assert old in TEXT
    result = CliRunner().invoke(main, ["--protocol", written(folder, "", "1", TEXT.replace(old, new))])
    assert (result.exit_code, "Traceback" in result.output) == (2, False)
    assert f"not {'True' if 'True' in new else new.partition('Least(')[2][0] + ' (Least)'}" in result.stderr


def test_a_constant_is_an_int_whatever_an_enumeration_shows() -> None:
    class Shown(IntEnum):
        A = 2

        def __str__(self) -> str:
            return "3"

    assert (constant(Shown.A), type(constant(Shown.A)), constant(True), constant(2.0)) == (2, int, True, None)
