"""What is wrong with a protocol's source is reported with its path from the working directory, its line, a caret under
the column, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from tests.sources import some

TEXT = (
    '''"""A counter."""

from __future__ import annotations

from zabcheck.language import (
    Int, Message, MessageName, Node, Seq, State, Variant, action, declare, receives, safety, send, stored, volatile,
)


def state(size):
    return [
        stored("level", Int(0, 3), "how far"),
        volatile("log", Seq(Int(0, 9), 3), "what was heard"),
    ]


def messages(size):
    return [Message("UP", {"by": Int(0, 3)})]


UP = MessageName("UP")


def may(s: State, p: Node) -> bool:
    return True


@action(when=may, budget="ups")
def up(s: State, p: Node) -> None:
    """p goes up."""
    send(s, p, p, UP(by=1))


def raised(s: State, p: Node, by: int) -> None:
    s.level[p] = min(3, s.level[p] + by)


@receives
def on_up(s: State, p: Node, source: Node, m: UP) -> None:
    """p goes up."""
    raised(s, p, m.by)


'''
    + some("somebody_up", "s.level[p] > 0", "Somebody went up.")
    + '''@safety(witness=somebody_up)
def low(s: State) -> bool:
    """Nobody is at 9."""
    return True


# the variant

PROTOCOL = declare(__name__, state=state, messages=messages, budgets={"ups": 1}, nodes=2)
'''
)
VARIANT = "# the variant\n"
WITH_VARIANT = "nodes=2, variants=[Variant('other', 'another', {'raised': other})])\n"
LEVEL = 'stored("level", Int(0, 3), "how far")'
MAY = "def may(s: State, p: Node) -> bool:\n    return True\n"

# What is replaced by what, what is marked, and what is said.
CASES = {
    # a variant with another signature
    "variant with fewer parameters": (
        VARIANT,
        "def other(s: State, p: Node) -> None:\n    s.level[p] = 0\n",
        "def other(s: State, p: Node) -> None:",
        "other is (State, Node) -> None, but raised, which it replaces, is (State, Node, int) -> None",
    ),
    "variant of another type": (
        VARIANT,
        "def other(s: State, p: Node, by: bool) -> None:\n    s.level[p] = 0\n",
        "def other(s: State, p: Node, by: bool) -> None:",
        "other is (State, Node, bool) -> None",
    ),
    "variant of another result": (
        VARIANT,
        "def other(s: State, p: Node, by: int) -> int:\n    return 0\n",
        "def other(s: State, p: Node, by: int) -> int:",
        "other is (State, Node, int) -> int",
    ),
    "variant with a number for a process": (
        VARIANT,
        "def other(s: State, p: int, by: int) -> None:\n    s.log[0].clear()\n",
        "def other(s: State, p: int, by: int) -> None:",
        "other is (State, int, int) -> None",
    ),
    # what is called like something of ours
    "field of the simulator": (
        LEVEL,
        LEVEL.replace("level", "sim_queue"),
        None,
        "the simulator's fields begin with sim_",
    ),
    "field of the world": (LEVEL, LEVEL.replace("level", "in_flight"), None, "field in_flight: the world has one"),
    "field of a step": (LEVEL, LEVEL.replace("level", "steps"), None, "field steps: the world has one"),
    "field of a state": (LEVEL, LEVEL.replace("level", "buffer"), None, "field buffer: a state has one"),
    "field of a budget": (LEVEL, LEVEL.replace("level", "ups_left"), None, "field ups_left: the world has one"),
    "part of a message": (
        '{"by"',
        '{"kind"',
        '"kind"',
        "field of UP kind: every message has one: rename it",
    ),
    "budget": ('{"ups"', '{"nodes"', '"nodes"', "s.NODES is a constant already: call budget nodes something else"),
    "property of the explorer": (
        "def low(",
        "def judge(",
        "@safety(witness=somebody_up)",
        "judge is a name of the expl",
    ),
    "property of the world": (
        "def low(",
        "def apply(",
        "@safety(witness=somebody_up)",
        "the world has a apply of its own",
    ),
    "property that is built in": (
        "def low(",
        "def no_runtime_error(",
        "@safety(witness=somebody_up)",
        "no-runtime-error is built in, and always checked: rename yours",
    ),
    "function of the language": (
        "def raised(",
        "def len(",
        "def len(s: State, p: Node, by: int) -> None:",
        "len is a word",
    ),
    # a declaration in the wrong order
    "guard below its use": (MAY, "", "may", "may is used here and defined only in line 56: move its definition above"),
    "declared first": (
        "def state(size):",
        "PROTOCOL = declare(__name__, state=state)\n\n\ndef state(size):",
        "state",
        "state is used here and defined only in line 13: move its definition above this line",
    ),
    "witness below its use": (
        "witness=somebody_up",
        "witness=later",
        "later",
        "later is used here and defined only in",
    ),
    # declarations
    "kind without values": (LEVEL, LEVEL.replace("0, 3", "3, 0"), None, "field level has no values: 3..0"),
    "flag that there is not": (
        LEVEL,
        LEVEL.replace("0, 3", '0, 3, "--upps"'),
        None,
        "there is no flag --upps that could widen the range of level",
    ),
    "flag of a message": ("Int(0, 3)})]", 'Int(0, 3, "ups")})]', '"by"', "there is no flag ups that could widen"),
    "axis that is a word": (
        LEVEL,
        LEVEL[:-1] + ', "NODE")',
        None,
        "field level: an axis is NODE or has 1 entry or more, not 'NODE'",
    ),
    "no kind": (LEVEL, LEVEL.replace("Int(0, 3)", "7"), None, "field level is of 7, which is not a kind"),
    "a range of words": (
        LEVEL,
        LEVEL.replace("Int(0", 'Int("a"'),
        None,
        "level: the lowest value is a whole number, not 'a'",
    ),
    "a sequence turned round": (
        "Seq(Int(0, 9), 3)",
        "Seq(3, Int(0, 9))",
        'volatile("log", Seq(3, Int(0, 9)), "what was heard")',
        "field log: elements of a sequence have a kind, not 3",
    ),
    "a length that is no number": (
        "Seq(Int(0, 9), 3)",
        "Seq(Int(0, 9), 'x')",
        'volatile("log", Seq(Int(0, 9), \'x\'), "what was heard")',
        "field log: its length is a whole number, not 'x'",
    ),
    "too much room": (
        "Int(0, 9), 3)",
        "Int(0, 9), 300)",
        'volatile("log", Seq(Int(0, 9), 300), "what was heard")',
        "room",
    ),
    "field twice": (
        '"log", Seq(Int(0, 9), 3)',
        '"level", Int(0, 1)',
        'volatile("level", Int(0, 1), "what was heard")',
        "twice",
    ),
    "message twice": (
        "[Message(",
        '[Message("UP", {}), Message(',
        'Message("UP", {"by": Int(0, 3)})',
        "declared twice",
    ),
    "budget in capitals": ('{"ups"', '{"Ups"', '"Ups"', "a budget is called by one word in small letters, not 'Ups'"),
    "flight too large": (
        "nodes=2",
        "nodes=2, flight=lambda size: 900",
        "lambda size: 900",
        "flight(size) must be 1 to 200",
    ),
    "no field": (LEVEL, "None", "def state(size):", "state(size) gives a NoneType, not a Field"),
    "size without it": (LEVEL, f"size.nope, {LEVEL}", "size.nope", "there is no budget 'nope'"),
    # the language's module by another name
    "module of the language": (
        "def raised(s: State",
        "import zabcheck.language as z\n\n\ndef raised(s: z.State",
        "z.State",
        "z.State is not a word of the language: import it by its name, as `from zabcheck.language import State`",
    ),
    "call through the module": (
        "    send(s",
        "    z.send(s",
        "z.send",
        "import it by its name, as `from zabcheck.language import send`",
    ),
    "module from its package": (
        "    send(s",
        "    words.send(s",
        "words.send",
        "import it by its name, as `from zabcheck.language import send`",
    ),
    # the language
    "no such field": ("s.level[p] > 0", "s.levle[p] > 0", "s.levle[p]", "the state has no field levle"),
    "no Python": ("    return False\n", "    retrun False\n", None, "this is not Python"),
}


for made_of, made in [("low", "low__own"), ("low", "low_of_every_message"), ("up", "up_may_choose")]:
    marks = f"def {made}(s: State) -> bool:"
    CASES[made] = (
        "def raised(",
        f"{marks}\n    return True\n\n\ndef raised(",
        marks,
        f"{made} is the name of what is made of {made_of}: rename it",
    )


@pytest.mark.parametrize("case", CASES)
def test_a_message_has_the_path_the_line_the_caret_and_what_to_do(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, marked, said = CASES[case]
    assert old in TEXT
    text = TEXT.replace(old, new, 1)
    text = text.replace("nodes=2)\n", WITH_VARIANT) if old == VARIANT else text
    text = text.replace(VARIANT, MAY, 1) if old == MAY else text
    text = text.replace(VARIANT, "later = somebody_up\n", 1) if "later" in new else text
    text = text.replace("UP = Mess", "import zabcheck.language as z\n\nUP = Mess") if "z.send" in new else text
    text = text.replace("UP = Mess", "from zabcheck import language as words\n\nUP = Mess") if "words." in new else text
    folder = tmp_path / "below"
    folder.mkdir()
    (folder / "mine.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["--protocol", "below/mine.py", "--no-trace", "--depth", "1"])
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    sentence, source, caret = result.stderr.splitlines()
    assert said in sentence
    piece = marked or (LEVEL if old != LEVEL else new)
    lines = text.splitlines()
    place = sentence.removeprefix("zabcheck: ").split(":")
    assert place[0] == "below/mine.py"
    assert source.strip() == lines[int(place[1]) - 1].strip()
    start = caret.index("^")
    if case != "no Python":
        assert source[start : caret.rindex("^") + 1] == piece
