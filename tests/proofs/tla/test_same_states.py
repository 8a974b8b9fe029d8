"""The module is the model: TLC reaches exactly the interpreter's states, whatever shapes a protocol is written in."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.tlc import TlcFailed
from checker.proofs.tla.env import Untranslatable
from checker.proofs.tla.module import Module, check_names, module_of
from checker.proofs.tla.places import TlaPlace
from checker.proofs.tla.values import message_type, named
from invariants import properties_of
from tests.proofs.tla.running import JAR, needs_tlc, run_tlc
from tests.proofs.tla.same_states import compared
from zabspec.language.analysis import tree as t
from zabspec.language.layout.kinds import Int, Kind, Message, MessageUnion, Record, Seq
from zabspec.language.layout.schema import Field, Layout, Role, Schema
from zabspec.model import Configuration, Model

HERE = Path(__file__).parent
SHAPES = (HERE / "shapes.py").read_text(encoding="utf-8")
BEFORE = "def someone(s: State)"
STEP = """@environment_step(when=ready, everywhere=True)
def one_more(s: State) -> None:
{}
    s.turn = 39


"""


@needs_tlc
@pytest.mark.slow(seconds=6)
@pytest.mark.parametrize("text", ["shapes", "alike"])
def test_tlc_reaches_the_same_states(text: str) -> None:
    """A state that the interpreter does not reach would break an invariant, one that TLC does not, the count."""
    theirs, states = compared(JAR, Configuration(str(HERE / f"{text}.py")))
    assert (theirs.violated, theirs.ended) == ("", True)
    assert theirs.distinct == states


@needs_tlc
@pytest.mark.slow(seconds=4)
def test_more_ways_to_choose_than_are_listed_are_an_error(tmp_path: Path) -> None:
    """Of 3 to the sixth ways TLC would look at the first 256, and find no error in the rest."""
    path = tmp_path / "shapes.py"
    path.write_text(SHAPES.replace("s.level[p] = choose(s, 3)", "s.level[p] = choose(s, 3) * choose(s, 3)"), "utf-8")
    made = module_of(Model(Configuration(str(path))), (), "Shapes")
    assert "may choose in more than 256 ways" in made.text
    with pytest.raises(TlcFailed, match="a step may choose in more than 256 ways"):
        run_tlc(JAR, made, limit=300)


def written(tmp_path: Path, *lines: str, old: str = "", new: str = "") -> Module:
    """The module of the shapes with one step more, and a piece of the text replaced."""
    body = STEP.format("\n".join(f"    {line}" for line in lines))
    path = tmp_path / "shapes.py"
    assert old in SHAPES
    path.write_text(SHAPES.replace(old, new).replace(BEFORE, (body if lines else "") + BEFORE), encoding="utf-8")
    return module_of(Model(Configuration(str(path))), properties_of(str(path)), "Shapes")


@pytest.mark.slow(seconds=1)
def test_what_a_module_defines_it_defines_once(tmp_path: Path) -> None:
    """Names of users, of enumerations, of invariants, of TLA+ and of our own."""
    text = written(tmp_path).text
    heads = [line.partition("(")[0].split()[0] for line in text.splitlines() if " ==" in line and line[0].isalpha()]
    assert sorted(heads) == sorted(set(heads))
    for name in ("do_p0", "do_next", "Max__own", "IF__own", "Next2", "P0"):
        assert any(head.startswith(name) for head in heads), name
    assert "\nturn == " not in text, "an enumeration's value that is called like a field"
    assert "INVARIANT Next2\n" in written(tmp_path).configuration


def test_nobody_is_no_number_where_processes_may_be_renamed() -> None:
    """So the states of `alike` say whether a module has -1 where it means NOBODY."""
    made = module_of(Model(Configuration(str(HERE / "alike.py"))), (), "Alike")
    assert "CONSTANTS p0, p1, p2, NOBODY\n" in made.text
    assert "NOBODY ==" not in made.text


VIEWS = {
    "a sequence that grows": ["shown = s.items", "s.items.append(1)", "s.out = len(shown)"],
    "one that a later round reads": [
        "shown = s.items", "for p in range(2):", "    s.out += len(shown)", "    s.items.append(p)",
    ],
    "by a call": ["shown = s.items", "s.out = grown(s) + len(shown)"],
    "given to a helper": ["seen_twice(s, s.items)"],
}  # fmt: skip


@pytest.mark.parametrize("lines", VIEWS.values(), ids=VIEWS.keys())
def test_a_view_that_is_read_after_a_change_is_refused(tmp_path: Path, lines: list[str]) -> None:
    """In Python it shows the change; a value of TLA+ would not."""
    helpers = (
        "def grown(s: State) -> int:\n    s.items.append(1)\n    return 1\n\n\n"
        "def seen_twice(s: State, seen: Items) -> None:\n    s.items.append(1)\n    s.out = len(seen)\n\n\n"
    )
    with pytest.raises(Untranslatable, match=r"items is changed while (shown|seen) shows what it has"):
        written(tmp_path, *lines, old="def ready(", new=f"{helpers}def ready(")


@pytest.mark.parametrize(
    "lines",
    [
        ["if s.level[0] == 2:", "    assert s.out < 0"], ["for p in range(s.NODES):", "    assert s.out < 0"],
        ["if s.level[0] == 2:", "    asserts(s)"],
    ],
)  # fmt: skip
def test_a_statement_that_only_asserts_is_none_too_many(tmp_path: Path, lines: list[str]) -> None:
    """Without it TLC would go on where a run ends with the error."""
    asserts = "def asserts(s: State) -> None:\n    assert s.out < 0\n\n\n"
    assert (
        "assert s.out < 0 does not hold" in written(tmp_path, *lines, old="def ready(", new=f"{asserts}def ready(").text
    )


def test_an_assertion_of_what_nothing_uses_is_refused(tmp_path: Path) -> None:
    helpers = (
        "def asserts(s: State) -> int:\n    assert s.out < 0\n    return 1\n\n\n"
        "def calls(s: State) -> int:\n    return asserts(s)\n\n\n"
    )
    with pytest.raises(Untranslatable, match="an assertion of a function whose value nothing uses"):
        written(tmp_path, "calls(s)", old="def ready(", new=f"{helpers}def ready(")


def test_a_view_that_is_read_before_the_change_is_none(tmp_path: Path) -> None:
    """Nor is one that a call is given the length of, before it changes what that shows."""
    longer = "def longer(s: State, n: int) -> int:\n    s.items.append(1)\n    return n\n\n\n"
    lines = (
        "shown = s.items",
        "s.out = len(shown)",
        "s.items.append(1)",
        "now = s.items",
        "s.out = longer(s, len(now))",
    )
    written(tmp_path, *lines, old="def ready(", new=f"{longer}def ready(")


def test_a_name_that_shows_something_in_another_function_is_none(tmp_path: Path) -> None:
    counted = "def counted(s: State) -> int:\n    shown = len(s.items)\n    s.items.append(1)\n    return shown\n\n\n"
    lines = ("shown = s.items", "s.out = len(shown)", "s.out += counted(s)")
    written(tmp_path, *lines, old="def ready(", new=f"{counted}def ready(")


def test_a_field_that_tla_has_no_name_for_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "shapes.py"
    path.write_text(SHAPES.replace("    items: ", "    CHOOSE: ").replace("s.items", "s.CHOOSE"), encoding="utf-8")
    with pytest.raises(Untranslatable, match="the name of field CHOOSE has another meaning"):
        module_of(Model(Configuration(str(path))), (), "Shapes")


ENTRY = Record("Entry", {"IN": Int(0, 3), "x_IN": Int(0, 3)})
LIKE_ITS_TAG = MessageUnion((Message("TICK", {"n": Int(0, 1), "kind": Int(0, 1)}),))
LIKE_ANOTHER = MessageUnion((Message("TICK", {"IN": Int(0, 1)}),), {"x_IN": Int(0, 1)})


@pytest.mark.parametrize(
    ("kind", "said"),
    [(ENTRY, "Entry.IN"), (Seq(ENTRY, 2), "Entry.IN"), (LIKE_ITS_TAG, "TICK.kind"), (LIKE_ANOTHER, "TICK.IN")],
)
def test_parts_that_would_have_one_name_are_refused(kind: Kind, said: str) -> None:
    """A record in which two parts have one name would lose one of them."""
    layout = Layout(Schema(1, (Field("x", kind, Role.PERSISTENT),), {}))
    with pytest.raises(Untranslatable, match=f"{said} has a name that another part of it has"):
        check_names(layout)


@pytest.mark.parametrize("name", ["Integers", "Sequences", "TLC", "MODULE", "größe"])
def test_a_module_is_not_called_like_one_of_tlc(name: str) -> None:
    with pytest.raises(Untranslatable, match=f"a module may not be called {name}"):
        module_of(Model(Configuration(str(HERE / "shapes.py"))), (), name)


@pytest.mark.parametrize(
    ("name", "said"), [("IN", "x_IN"), ("WF_now", "x_WF_now"), ("__", "x__"), ("größe", "gru00f6u00dfe"), ("p", "p")]
)
def test_a_name_is_one_of_tla(name: str, said: str) -> None:
    assert named(name) == said


def test_where_there_are_no_messages_nothing_is_one() -> None:
    assert message_type(MessageUnion(())) == ["IsMessage(m) == FALSE"]


NOTHING_VOLATILE = '''"""A process that crashes and forgets nothing."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Range, Node, action, declare, stored


class State(Fields):
    kept: Each[Node, Annotated[int, Range(0, 1)]] = stored("what it keeps")


@action(budget="turns")
def turn(s: State, p: Node) -> None:
    s.kept[p] = 1


PROTOCOL = declare(__name__, budgets={"turns": 1, "crashes": 1}, nodes=2)
'''


def test_a_place_inside_a_value_is_in_no_field() -> None:
    """So that no field counts as changed with it."""
    assert TlaPlace(None, t.Var(t.STATE, "shown"), ()).field_name == ""


def test_a_value_is_not_changed_through_a_name(tmp_path: Path) -> None:
    """A name of a sequence is a copy in TLA+."""
    text = NOTHING_VOLATILE.replace("Annotated[int, Range(0, 1)]", "Annotated[SeqOf[bool], AtMost(2)]")
    text = text.replace("import Each,", "import AtMost, Each, SeqOf,")
    text = text.replace("    s.kept[p] = 1", "    shown = s.kept[p]\n    shown[0] = True")
    (tmp_path / "kept.py").write_text(text, encoding="utf-8")
    with pytest.raises(Untranslatable, match=r"turn.*kept.py:\d+\): a message is changed outside the state"):
        module_of(Model(Configuration(str(tmp_path / "kept.py"))), (), "Kept")


def test_what_comes_behind_an_if_is_written_once(tmp_path: Path) -> None:
    """However many of its ways return: else the module would double with each `if`."""
    divided = """    if s.kept[p] > 1:
        if s.kept[p] > 2:
            s.kept[p] = 0
        else:
            return
    else:
        s.kept[p] = 3
"""
    text = NOTHING_VOLATILE.replace("Range(0, 1)", "Range(0, 77)").replace(
        "    s.kept[p] = 1", 2 * divided + "    s.kept[p] = 77"
    )
    (tmp_path / "kept.py").write_text(text, encoding="utf-8")
    made = module_of(Model(Configuration(str(tmp_path / "kept.py"))), (), "Kept").text
    assert made.count("!.kept[p] = 77") == 1


def test_a_helper_is_an_operator_and_a_field_of_one_value_a_number(tmp_path: Path) -> None:
    helper = (
        'def more(s: State, p: Node, k: int) -> int:\n    """How far it comes."""\n'
        "    return s.kept[p] + s.step[p] * k\n\n\n@action"
    )
    text = NOTHING_VOLATILE.replace("Range(0, 1)", "Range(0, 9)").replace("@action", helper)
    text = text.replace(
        '"what it keeps")',
        '"what it keeps")\n    step: Each[Node, Annotated[int, Range(3, 3)]] = stored("how far")',
    )
    text = text.replace("    s.kept[p] = 1", "    k = s.kept[p]\n    s.kept[p] = more(s, p, k) if k < 2 else 0")
    (tmp_path / "kept.py").write_text(text, encoding="utf-8")
    made = module_of(Model(Configuration(str(tmp_path / "kept.py"))), (), "Kept").text
    assert "\n\\* How far it comes.\nmore__own(s, p, k) == s.kept[p] + (3 * k)\n" in made
    assert "THEN more__own(s, p, k) ELSE 0]" in made
    assert "step |->" not in made


def test_values_of_an_enumeration_have_their_names(tmp_path: Path) -> None:
    """Also where a condition says which of two it is: the module is there to be read."""
    text = NOTHING_VOLATILE.replace("Range(0, 1)", 'OneOf("NEW", "OLD", "GONE")')
    text = text.replace("Range,", "OneOf,").replace("class State", "NEW, OLD, GONE = 0, 1, 2\n\n\nclass State")
    text = text.replace("s.kept[p] = 1", "s.kept[p] = GONE if s.kept[p] == OLD else OLD")
    (tmp_path / "kept.py").write_text(text, encoding="utf-8")
    made = module_of(Model(Configuration(str(tmp_path / "kept.py"))), (), "Kept").text
    assert "!.kept[p] = IF s.kept[p] = OLD THEN GONE ELSE OLD" in made
    assert "\nOLD == 1\n" in made


def test_a_process_that_has_nothing_volatile_forgets_nothing(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text(NOTHING_VOLATILE, encoding="utf-8")
    text = module_of(Model(Configuration(str(tmp_path / "kept.py"))), (), "Kept").text
    assert "Forget(s, p) == s\n" in text
    assert "EXCEPT ]" not in text


def test_bags_of_each_process_have_no_order(tmp_path: Path) -> None:
    """TLC asked for the length of all of them at once, and ended with an error."""
    kept = ("Annotated[int, Range(0, 1)]", "Annotated[SeqOf[bool], AtMost(2, bag=True)]")
    text = NOTHING_VOLATILE.replace(*kept).replace("s.kept[p] = 1", "s.kept[p].append(True)")
    text = text.replace("import Each,", "import AtMost, Each, SeqOf,")
    (tmp_path / "kept.py").write_text(text, encoding="utf-8")
    made = module_of(Model(Configuration(str(tmp_path / "kept.py"))), (), "Kept").text
    assert "!.kept = [i0 \\in Node |-> Bag(state.kept[i0])]" in made


def test_a_step_with_two_ways_has_both(tmp_path: Path) -> None:
    """And says nothing else of itself."""
    text = NOTHING_VOLATILE.replace("s.kept[p] = 1", "s.kept[p] = choose(s, 2)").replace("action, ", "action, choose, ")
    (tmp_path / "kept.py").write_text(text, encoding="utf-8")
    made = module_of(Model(Configuration(str(tmp_path / "kept.py"))), (), "Kept").text
    assert "\\E choice \\in 0..1 :" in made


def test_a_choice_that_nothing_depends_on_is_no_choice(tmp_path: Path) -> None:
    """The branch writes nothing, so it is not in the module, and neither is the field that counts choices."""
    choice = "if s.kept[p] == 0:\n        a = choose(s, 2)\n    s.kept[p] = 1"
    text = NOTHING_VOLATILE.replace("s.kept[p] = 1", choice).replace("action, ", "action, choose, ")
    (tmp_path / "kept.py").write_text(text, encoding="utf-8")
    made = module_of(Model(Configuration(str(tmp_path / "kept.py"))), (), "Kept").text
    assert "choices" not in made
    assert "\\E choice" not in made


def test_a_choice_within_a_condition_is_refused_with_what_to_write(tmp_path: Path) -> None:
    text = NOTHING_VOLATILE.replace("s.kept[p] = 1", "if s.kept[p] == 0 and choose(s, 2) == 1:\n        s.kept[p] = 1")
    (tmp_path / "kept.py").write_text(text.replace("action, ", "action, choose, "), encoding="utf-8")
    refused = r"^turn \(\S*kept.py:\d+\): choose is called in a condition: give its value a name, in a line of its own"
    with pytest.raises(Untranslatable, match=refused):
        module_of(Model(Configuration(str(tmp_path / "kept.py"))), (), "Kept")
