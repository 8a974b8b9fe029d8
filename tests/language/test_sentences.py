"""The sentence beside a property's False: in CPython it goes with the False that it was said of, and no other world
knows of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.language.test_language import HEADER, Worlds, program
from zabspec.language import NODE, Field, Int, LanguageError, Layout, Role, Schema, StateView
from zabspec.language.python.lang import broken
from zabspec.language.python.sentences import ExplainedFalse, sentence_of

SAID = "from zabspec.language.python.lang import broken\n"

PROPERTIES = '''
def even(s: State) -> bool:
    """No process has an odd number."""
    for p in range(s.NODES):
        if s.x[p] % 2 == 1:
            t = Txn(epoch=1, counter=2, value=1)
            return broken(f"p{p} has {s.x[p]}, p{s.who[p]} and {s.group[p]}, not {t}, in {s.log[p]} of {s.acks[p][0]}")
    return True


def odd(s: State) -> bool:
    return not even(s)


def same(s: State) -> bool:
    return even(s)


def other(s: State) -> bool:
    """A False of its own."""
    if not even(s):
        return False
    return True


def second(s: State) -> bool:
    """Of two that do not hold the one whose False it is."""
    if not even(s) and s.x[0] < 50:
        return broken("p0 has little")
    return even(s)


def much(s: State, p: Node, most: int) -> bool:
    """A function that a sentence calls alone, which no other world has."""
    return s.x[p] > most


def all_poor(s: State) -> bool:
    for p in range(s.NODES):
        if s.x[p] > 5:
            return broken(
                f"{'only' if s.x[p] == 60 else 'also'} { {q for q in range(s.NODES) if much(s, q, 5)} } of "
                f"{ {q for q in range(s.NODES)} } has more than 5: {much(s, p, 6)} {s.who[1] if p > 1 else 'no one'}"
            )
    return True


def beyond(s: State) -> bool:
    """The place of the sentence is past an end, which no other world sees."""
    k = s.x[0]
    return broken(f"p0 has {s.many[1][k]} at {k} and {s.few[0][max(k, len(s.few[0]))]}.")
'''
CALLED = "\n".join(
    f"def call_{name}(s: State) -> int:\n    if {name}(s):\n        return 1\n    return 0\n"
    for name in ("even", "odd", "same", "other", "second", "all_poor", "beyond")
)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    made = program(tmp_path_factory.mktemp("sentences"), SAID + PROPERTIES + CALLED)
    return Worlds(made, dict.fromkeys((n for n in made.namespace if n.startswith("call_")), 0))


def state(worlds: Worlds, *numbers: int) -> StateView:
    s = worlds.state()
    for p, number in enumerate(numbers):
        s.x[p] = number
    s.group[1].add(0)
    s.group[1].add(2)
    s.who[1] = -1
    s.acks[1][0].add(11)
    s.log[1].append(worlds.program.python["Txn"](epoch=3, counter=1, value=1))
    return s


def said(worlds: Worlds, name: str, s: StateView) -> tuple[bool, str]:
    result = worlds.program.python[name](s)
    return bool(result), sentence_of(result)


def test_its_places_are_filled_in_the_papers_notation(worlds: Worlds) -> None:
    s = state(worlds, 4, 7, 9)
    sentence = "p1 has 7, nobody and {p0, p2}, not t1 <1,2>, in [t1 <3,1>] of {11}."
    assert said(worlds, "even", s) == (False, sentence)
    assert said(worlds, "even", state(worlds, 4, 6, 8)) == (True, "")


def test_it_goes_with_the_false_that_it_was_said_of(worlds: Worlds) -> None:
    s = state(worlds, 60, 7, 9)
    assert said(worlds, "odd", s) == (True, "")
    assert said(worlds, "odd", state(worlds, 4, 6, 8)) == (False, "")  # a negation says nothing
    assert said(worlds, "same", s)[1].startswith("p1 has 7")
    assert said(worlds, "other", s) == (False, "")
    assert said(worlds, "second", s)[1].startswith("p1 has 7")
    assert said(worlds, "second", state(worlds, 4, 7, 9)) == (False, "p0 has little.")


def test_a_sentence_may_name_a_choice_of_two_or_a_set_of_processes(worlds: Worlds) -> None:
    sentence = "only {p0, p1} of {p0, p1, p2} has more than 5: True no one."
    assert said(worlds, "all_poor", state(worlds, 60, 7, 4)) == (False, sentence)
    assert said(worlds, "all_poor", state(worlds, 0, 0, 6))[1] == "also {p2} of {p0, p1, p2} has more than 5: False -1."
    assert "much" not in worlds.program.typed(["all_poor"]).functions


def test_every_world_judges_alike_and_no_error_is_of_a_sentence(worlds: Worlds) -> None:
    for numbers in ((4, 7, 9), (4, 6, 8), (60, 7, 8)):
        for name in worlds.roots:
            assert worlds.agree(name, start=state(worlds, *numbers)).error == ""
    assert said(worlds, "beyond", state(worlds, 4, 7, 9)) == (
        False,
        "p0 has {s.many[1][k]} at 4 and {s.few[0][max(k, len(s.few[0]))]}.",
    )
    with_errors = {site.file for site in worlds.sites if "many" in site.field}
    assert not with_errors  # the one place that may be past an end is in a sentence


def test_it_is_false_in_whatever_it_is_compared_and_stored() -> None:
    said = broken("no")
    assert said == False and not said and said != True and hash(said) == hash(False)  # noqa: E712, PT018
    assert isinstance(said, ExplainedFalse) and sentence_of(said) == "no." and sentence_of(False) == ""  # noqa: PT018


REFUSED: dict[str, tuple[str, str]] = {
    "a wrong name": ('return broken(f"{q}")', "q is neither a local name nor a constant"),
    "a name without a value": (
        'if s.x[0] > 0:\n        k = 1\n    return broken(f"{k}")',
        "k cannot have a value here",
    ),
    "no such field": ('return broken(f"p0 has {s.money[0]}")', "the state has no field money"),
    "writing": ('return broken(f"{(k := 1)}")', "a walrus is not in the language"),
    "an operation": ('return broken(f"{s.few[0].append(1)}")', "cannot be called here"),
    "a call that writes": ('return broken(f"{changes(s)}")', "a sentence cannot write, but changes does"),
    "one inside": ('return broken(f"{1 + by_another(s)}")', "a sentence cannot write, but by_another does"),
    "in a set": (
        'return broken(f"{ {q for q in range(s.NODES) if changes(s) > q} }")',
        "a sentence cannot write, but changes does",
    ),
    "no such function": ('return broken(f"{nothing(s)}")', "there is no function nothing"),
    "what cannot be called": ('return broken(f"{no_text(s)}")', "{no_text(s)} in a sentence cannot be expressed: "),
    "forgetting": ('return broken(f"{forget(s, 0)}")', "which cannot appear in a sentence"),
    "another set": ('return broken(f"{ {q for q in range(2)} }")', "a set in a sentence must be of processes"),
    "a list": ('return broken(f"{[q for q in range(s.NODES)]}")', "a list comprehension is not in the language"),
    "the state": ('return broken(f"{s}")', "which cannot appear in a sentence"),
    "too few indices": ('return broken(f"{s.x}")', "x takes 1 indices, and 0 are given"),
    "a format": ('return broken(f"{s.x[0]:>3}")', "is written without `!` and `:`"),
    "a conversion": ('return broken(f"{s.x[0]!r}")', "is written without `!` and `:`"),
    "no sentence": ("return broken(s.flag[0])", "takes one sentence"),
    "nothing": ("return broken()", "takes one sentence"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_sentence_may_not_do_is_refused_with_its_line(name: str, tmp_path: Path) -> None:
    line, reason = REFUSED[name]
    text = (
        f"{SAID}def changes(s: State) -> int:\n    s.x[0] = 1\n    return 1\n\n\n"
        "def by_another(s: State) -> int:\n    return changes(s)\n\n\n"
        "def no_text(s: State) -> int:\n    return 1.5\n\n\n"
        f"def holds(s: State) -> bool:\n    {line}\n"
    )
    made = program(tmp_path, text)
    with pytest.raises(LanguageError) as caught:
        made.typed(["holds"])
    assert reason in caught.value.reason
    last = len((HEADER + text).splitlines())
    assert caught.value.line == last


def test_a_property_that_is_of_no_truth_value_says_no_sentence(tmp_path: Path) -> None:
    for world, protocol, root in (
        (SAID + 'def holds(s: State) -> int:\n    return broken("no")\n', "", "holds"),
        ("", SAID + 'def h(s: State, p: Node) -> bool:\n    return broken("no")\n', "h"),
    ):
        with pytest.raises(LanguageError):
            program(tmp_path, world, protocol).typed([root])


def test_an_enumeration_value_is_printed_by_name_and_is_a_number() -> None:
    phase = Field("phase", Int(-1, 1, names=("NONE", "BEGUN", "DONE")), Role.VOLATILE, (NODE,))
    s = StateView(Layout(Schema(2, (phase,), {"NODES": 2})))
    s.phase[1] = 1
    assert [str(s.phase[p]) for p in range(2)] == ["NONE", "DONE"]
    assert s.phase[1] == 1
    assert s.phase[0] + 1 == 0
    assert sentence_of(broken(f"p1 is {s.phase[1]}")) == "p1 is DONE."
