"""A name in a user protocol is Python's builtin, the language's word or a constant by type, or it is refused."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path

import pytest

from checker.errors import RequestError
from checker.requests.explore import Explore
from zabspec.language.python.meanings import constant


def test_a_constant_is_an_int_whatever_an_enumeration_shows() -> None:
    class Shown(IntEnum):
        A = 2

        def __str__(self) -> str:
            return "3"

    assert (constant(Shown.A), type(constant(Shown.A)), constant(True), constant(2.0)) == (2, int, True, None)


TEXT = """from __future__ import annotations

from enum import EnumType, IntEnum
from typing import Annotated

from zabcheck.language import Each, Fields, Node, Range, Size, State, action, declare, safety, stored
{before}


class State(Fields):
    x: Each[Node, Annotated[int, Range(0, {most})]] = stored("a number")


@action(budget="begins")
def begin(s: State, p: Node) -> None:
    s.x[p] = {value}


def begun(s: State) -> bool:
    return s.begins_left == 0


@safety(witness=begun)
def small(s: State) -> bool:
    "No number is 3."
    return all(s.x[p] != 3 for p in range(s.NODES))


PROTOCOL = declare(__name__, nodes=1, budgets={{"begins": 1}})
"""
HELPER = """from __future__ import annotations

from enum import IntEnum

from zabcheck.language import State, safety


class Kind(IntEnum):
    A = 0
    B = 3


FEW = (3,)


def of_kind(s: State) -> int:
    return Kind.B


def of_few(s: State) -> int:
    return max((v for v in FEW), default=0)


@safety
def offered(s: State) -> bool:
    "No number is large."
    return s.x[0] < 3


def made(words: str = "a number"):
    @safety(premise=words)
    def tiny(s: State) -> bool:
        "No number is 2."
        return s.x[0] < 2

    return tiny
"""
KIND = "class Kind(IntEnum):\n    A = 0\n    B = 1\n"
META = "class Other(EnumType):\n    def __getattribute__(cls, name):\n        return 3 if name == 'B' else {}\n"
META = META.format("super().__getattribute__(name)")
RECURS = "def down(s: State, k: int) -> int:\n    return down(s, k - 1) if k > 0 else 3"


def answered(folder: Path, before: str, value: str, most: str = "9") -> str:
    """Return how an exploration of the text begins its answer, or its refusal."""
    (folder / "helper.py").write_text(HELPER)
    (folder / "mine.py").write_text(TEXT.format(before=before, value=value, most=most))
    try:
        return str(Explore(str(folder / "mine.py"), second_opinion="none").answer().sentence)
    except RequestError as problem:
        return str(problem).replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("before", "value", "said"),
    [
        ("from helper import of_kind\n" + KIND, "of_kind(s)", "of_kind means another Kind than mine.py does"),
        ("from helper import of_few\nFEW = (1,)", "of_few(s)", "of_few means another FEW than mine.py does"),
        ("from helper import of_few\nFEW = range(3)", "of_few(s)", "of_few means another FEW than mine.py does"),
        ("from helper import of_kind", "of_kind(s)", "Kind is not imported where of_kind is"),
        ("from helper import of_few, FEW", "of_few(s)", "VIOLATED: small at depth 1"),
        ("from helper import of_kind, Kind", "of_kind(s)", "VIOLATED: small at depth 1"),
        (KIND + "    C = B\nKind.D = 5", "Kind.C + 2", "VIOLATED: small at depth 1"),
        (META + KIND.replace("IntEnum", "IntEnum, metaclass=Other"), "Kind.B", "Kind is no plain IntEnum"),
        (KIND + "type.__setattr__(Kind, 'B', 3)", "Kind.B", "Kind is no plain IntEnum"),
        (RECURS, "down(s, 2)", "down is recursive"),
    ],
)
def test_a_name_means_what_it_means_in_its_module(tmp_path: Path, before: str, value: str, said: str) -> None:
    assert said in answered(tmp_path, before, value)


@pytest.mark.parametrize(
    "body",
    [
        "not (s.x[p] not in (0, 1))",
        "not s.x[p] != 0",
        "(s.x[p] == 0)",
        "True if s.x[p] == 0 else False",
        "not not True",
    ],
)
def test_a_lambda_is_found_however_python_compiles_it(tmp_path: Path, body: str) -> None:
    """CPython drops the negation of a test for membership, with its place."""
    given = TEXT.replace('budget="begins"', f'budget="begins", when=lambda s, p: {body}')
    (tmp_path / "mine.py").write_text(given.format(before="", value="3", most="9"))
    answer = Explore(str(tmp_path / "mine.py"), second_opinion="none").answer()
    assert answer.sentence.startswith("VIOLATED: small at depth 1")


LOST = "tiny is marked, but at the end of the file no name means it"


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("import helper\nhelper.made()", LOST),
        ("from helper import made\nKEPT = [made()]", LOST),
        ("from helper import made\ntiny = made()\ntiny = made('another number')", LOST),
        ("from helper import made\ntiny = made()", "VIOLATED: tiny at depth 1"),
        ("from helper import offered", "holds: 2 properties"),
        ("import helper", "holds: 1 property"),  # it offers one, which the file does not take
    ],
)
def test_a_property_that_a_helper_makes_is_asked_or_refused(tmp_path: Path, before: str, said: str) -> None:
    assert said in answered(tmp_path, before, "2")


@pytest.mark.parametrize(
    ("before", "value"),
    [
        ("FEW = (1,)", "max((v for v in FEW), default=0)"),
        (KIND, "Kind.B"),
        ("def f(s: State) -> int: return 1", "f(s)"),
    ],
)
def test_a_name_that_changes_with_the_size_is_refused(tmp_path: Path, before: str, value: str) -> None:
    again = before.replace("1", "3")
    most = "def most(size: Size) -> int:\n    exec(AGAIN, globals())\n    return 9"
    said = answered(tmp_path, f"{before}\nAGAIN = {again!r}\n{most}", value, "most")
    assert "when the file was read, and is" in said, said


START = Path(__file__).parents[2] / "examples" / "start" / "tpc.py"
USED = "    s.phase[p] = ABORTED\n"  # in an action


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("word", ["OneOf", "Each", "MessageType", "action", "send"])
def test_a_word_of_the_language_that_is_not_imported_is_said_with_its_import(tmp_path: Path, word: str) -> None:
    text = START.read_text()
    assert f"    {word},\n" in text
    (tmp_path / "mine.py").write_text(text.replace(f"    {word},\n", "", 1))
    with pytest.raises(RequestError, match=rf"{word} is not imported: from zabcheck.language import {word}$"):
        Explore(str(tmp_path / "mine.py")).answer()


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("word", ["any_of(s, {p})", "any_process(s)", "choose(s, 2)", "NOBODY"])
def test_a_word_in_a_function_that_is_not_imported_is_said_with_its_import(tmp_path: Path, word: str) -> None:
    name = word.partition("(")[0]
    (tmp_path / "mine.py").write_text(START.read_text().replace(USED, f"{USED}    q = {word}\n", 1))
    with pytest.raises(RequestError, match=rf"{name} is not imported: from zabcheck.language import {name}$"):
        Explore(str(tmp_path / "mine.py")).answer()


@pytest.mark.slow(seconds=1)
def test_a_step_may_have_the_name_of_a_value(tmp_path: Path) -> None:
    """As in PlusCal, where a label names both; a constant of that name has to be the value."""
    text = START.read_text().replace("def refuse(", "def NONE(")
    (tmp_path / "mine.py").write_text(text)
    assert Explore(str(tmp_path / "mine.py"), second_opinion="none").answer().sentence.startswith("holds")
    (tmp_path / "mine.py").write_text(text + "\n\nCOMMIT = 2\n")
    with pytest.raises(RequestError, match="COMMIT is 2 in the file, and number 1 of outcome: make them the same"):
        Explore(str(tmp_path / "mine.py")).answer()
