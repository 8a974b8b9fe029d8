"""Steps that a protocol merges on its author's word: every verdict that rests on them says so, and none of them is
merged with `--reduction none`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from checker.report.promises import promise_text
from zabspec.model import Configuration, Model

TEXT = (Path(__file__).parent / "texts" / "one_value.py").read_text()
PROMISES = '''
def any_message(s: State, f: Node, m: AnyMessage) -> bool:
    """A promise that is not kept: who has stepped down meanwhile is seen."""
    return True


def any_answer(s: State, l: Node, f: Node, m: AnyMessage) -> bool:
    return True


def no_crash(s: State, p: Node) -> bool:
    """A promise that is not kept: a crash is seen."""
    return False


def at_once(s: State) -> bool:
    """A promise that is not kept: that nobody has learned of a loss is seen."""
    return True


def nobody_waits(s: State) -> bool:
    """It is asked."""
    return True


@safety(witness=nobody_waits)
def has_its_value(s: State) -> bool:
    """Who follows a process that leads no longer has its value."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if s.role[p] == FOLLOWING and s.leader[p] == q and s.role[q] == LOOKING and s.value[p] == 0:
                return False
    return True


@safety(witness=nobody_waits)
def nobody_crashes(s: State) -> bool:
    """Nobody has crashed."""
    return s.crashes_left == s.CRASHES


@safety(witness=nobody_waits)
def nothing_is_lost_unseen(s: State) -> bool:
    """Where no connection can be lost any more, all that lead or follow have learned of one."""
    if s.losses_left == s.LOSSES:
        return True
    for p in range(s.NODES):
        if s.role[p] == LOOKING:
            return True
    return False


'''
VARIANTS = """    variants=[
        Variant("eager", "messages are taken first", {"takes_first": any_message, "hears_first": any_answer}),
        Variant("deaf", "a crash is none", {"is_changed_by_crash": no_crash}),
        Variant("quick", "a loss is learned at once", {"loses_when_learned": at_once}),
"""
SIBLINGS = {
    "eager": ("has-its-value", ["--budget", "elections=1", "--losses", "0"], "hears_first, takes_first"),
    "deaf": ("nobody-crashes", ["--budget", "elections=1", "--crashes", "1", "--losses", "0"], "is_changed_by_crash"),
    "quick": (
        "nothing-is-lost-unseen",
        ["--budget", "elections=0", "--losses", "1", "--start", "established"],
        "loses_when_learned",
    ),
}


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "promising.py"
    written = TEXT.replace("import (\n", "import (\n    AnyMessage,\n").replace("    variants=[", VARIANTS + "        ")
    written = written.replace("PROTOCOL = declare(", PROMISES + "PROTOCOL = declare(")
    path.write_text(written)
    return path


def ran(path: Path, variant: str, *words: str) -> Result:
    name, budget, _ = SIBLINGS[variant]
    given = ["--protocol", str(path), "--variant", variant, "--nodes", "2", "--property", name]
    return CliRunner().invoke(main, [*given, *budget, "--no-trace", *words])


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("variant", SIBLINGS)
def test_a_violation_that_a_promise_hides_is_found_without_it(text: Path, variant: str) -> None:
    hidden = ran(text, variant)
    assert hidden.exit_code == 0
    assert f"steps merged by promise: {SIBLINGS[variant][2]}" in " ".join(hidden.stdout.split())
    seen = ran(text, variant, "--reduction", "none")
    assert seen.exit_code == 1
    assert "by promise" not in seen.stdout


@pytest.mark.slow(seconds=2)
def test_every_format_says_so(text: Path, tmp_path: Path) -> None:
    page, cases = tmp_path / "r.html", tmp_path / "r.xml"
    found = json.loads(ran(text, "deaf", "--json", "--html", str(page), "--junit", str(cases)).stdout)
    assert [(m["hook"], m["of"]) for m in found["merged_by_promise"]] == [("is_changed_by_crash", "variant deaf")]
    said = "steps merged by promise: is_changed_by_crash of variant deaf"
    assert said in found["sentence"]
    assert said in cases.read_text()
    assert said in " ".join(page.read_text().split())
    found = json.loads(ran(text, "deaf", "--json", "--reduction", "none").stdout)
    assert found["merged_by_promise"] == []
    assert found["configuration"]["promises"] is False


@pytest.mark.slow(seconds=2)
def test_a_matrix_says_so(text: Path) -> None:
    matrix = text.parent / "zabcheck.toml"
    matrix.write_text(
        f'[[check]]\nname = "crashes"\nprotocol = "{text.name}"\nvariant = "deaf"\nnodes = 2\ncrashes = 1\nlosses = 0\n'
        'properties = ["nobody-crashes"]\nbudgets = { elections = 1 }\n'
        'expect = { verdict = "holds", source = "a test" }\n'
    )
    told = CliRunner().invoke(main, ["check", str(matrix)])
    assert told.exit_code == 0, told.output
    assert "merged by promise" in told.stdout


def test_a_hook_of_the_protocol_itself_is_named_by_its_file(text: Path) -> None:
    text.write_text(text.read_text().replace("def no_crash(", "def is_changed_by_crash(").replace(
        '"is_changed_by_crash": no_crash', '"is_changed_by_crash": is_changed_by_crash'))  # fmt: skip
    assert promise_text(Configuration(str(text))) == "; steps merged by promise: is_changed_by_crash of promising.py"
    assert not Configuration(str(text), promises=False).promises
    assert "offer_crash" in Model(Configuration(str(text))).program.namespace


def test_where_nothing_is_promised_there_is_one_question() -> None:
    assert Configuration("zab", promises=False) == Configuration("zab")
    assert "promises" not in Configuration("zab").as_dict()


def test_our_own_merged_steps_are_named() -> None:
    said = promise_text(Configuration("zookeeper", "coarse"))
    assert said.startswith("; steps merged by promise: admits_first, hears_first, is_changed_by_crash, leaves_first")
    assert said.endswith("of variant coarse")
    assert not promise_text(Configuration("zookeeper"))
    every = Model(Configuration("zookeeper", "coarse", promises=False)).program.namespace
    assert every["enabled"].__module__ == "zabspec.worlds.connections"
