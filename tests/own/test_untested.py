"""A run in which no property is put to the test is no verdict: no premise was met, or no property can fail."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

import zabcheck
from checker.cli import main
from checker.commands.init import START
from checker.explore.vacuous import vacuous
from invariants import properties_of
from zabspec.model import Configuration, Model

TEXT = START.read_text(encoding="utf-8")
MORE = '''def anything(s: State) -> bool:
    """It is asked."""
    return True


def in_range(s: State) -> bool:
    return s.phase[0] >= 0


def is_vote(s: State, m: VOTE) -> bool:
    """Of no use."""
    return m.yes or not m.yes


@safety(witness=anything)
def vain(TAKES) -> bool:
    """What cannot fail."""
    BODY


'''
NEVER_FALSE = {
    "constant": "return True",
    "numbers": "return 1 < 2",
    "range": "return s.phase[0] < 9",
    "itself": "return s.phase[0] == s.phase[0]",
    "helper": "return in_range(s)",
    "branch": "if False:\n        return False\n    return True",
    "loop": "for p in range(s.NODES):\n        if s.phase[p] > 3:\n            return False\n    return True",
    "size": "return len(s.agreed[0]) <= s.NODES",
    "either": "return s.phase[0] != 2 or s.phase[0] <= 3",
    "both": "return not (s.phase[0] > 7 and s.phase[0] == 2)",
}
MAY_BE_FALSE = {
    "kept": "x = 1\n    for p in range(s.NODES):\n        if s.phase[p] == 2:\n            x = 0\n    return x == 1",
    "side": "x = 1\n    if s.phase[0] == 2:\n        x = 0\n    return x > 0",
    "counted": "n = 0\n    for m in s.in_flight:\n        n = n + 1\n    return n < 5",
    "rounds": "x = 1\n    if s.phase[0] == 1:\n        for p in range(s.NODES):\n            x = p\n    return x != 0",
    "while": "ok = True\n    while ok:\n        ok = False\n    return ok",
}


def written(tmp_path: Path, body: str, takes: str = "s: State") -> Path:
    path = tmp_path / "tpc.py"
    more = MORE.replace("BODY", body).replace("TAKES", takes)
    path.write_text(TEXT.replace("PROTOCOL = declare(", more + "PROTOCOL = declare("))
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


@pytest.mark.parametrize("name", NEVER_FALSE)
def test_what_cannot_fail_is_known(tmp_path: Path, name: str) -> None:
    path = str(written(tmp_path, NEVER_FALSE[name]))
    found = vacuous(Model(Configuration(path, nodes=2)), properties_of(path))
    assert found.keys() == {"vain"}
    assert found["vain"].startswith("tpc.py:")


@pytest.mark.parametrize("name", MAY_BE_FALSE)
def test_what_may_fail_is_not_said_to_be_vain(tmp_path: Path, name: str) -> None:
    path = str(written(tmp_path, MAY_BE_FALSE[name]))
    assert not vacuous(Model(Configuration(path, nodes=2)), properties_of(path))


def test_what_is_asked_of_messages_may_be_vain_too(tmp_path: Path) -> None:
    path = str(written(tmp_path, "return m.source >= -1", "s: State, m: VOTE"))
    assert vacuous(Model(Configuration(path, nodes=2)), properties_of(path)).keys() == {"vain"}


@pytest.mark.slow(seconds=2)
def test_a_run_of_properties_that_cannot_fail_is_no_verdict(tmp_path: Path) -> None:
    path, cases = written(tmp_path, "return s.phase[0] < 9"), tmp_path / "cases.xml"
    words = ["--protocol", path, "--nodes", 2, "--depth", 2, "--engine", "interpret", "--property", "vain"]
    ran = run(*words, "--json", "--junit", cases)
    assert ran.exit_code == 3
    found = json.loads(ran.stdout)
    assert (found["verdict"], found["exit_code"]) == ("premise not reached", 3)
    assert "no property (1 judged) was put to the test, 1 can never be False" in found["sentence"]
    assert found["properties"][0]["never_false"]
    assert any("vain is never False, whatever happens (tpc.py:" in said for said in found["unused"])
    assert "not put to the test: it can never be False" in run(*words).stdout
    assert ElementTree.parse(cases).getroot().get("errors") == "1"


@pytest.mark.slow(seconds=2)
def test_beside_one_that_is_tested_it_is_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "return True")
    ran = run("--protocol", path, "--nodes", 2, "--crashes", 0, "--engine", "interpret")
    assert ran.exit_code == 0
    assert "1 of 2 properties put to the test, 1 can never be False" in " ".join(ran.stdout.split())


def test_a_run_in_which_no_premise_is_met_is_no_verdict(tmp_path: Path) -> None:
    words = ["--nodes", 2, "--depth", 1, "--engine", "interpret"]
    assert run("--protocol", written(tmp_path, "return True"), *words, "--property", "agreement").exit_code == 3
    assert run("--txns", 1, *words).exit_code == 3
    answer = zabcheck.explore("zab", nodes=2, txns=1, depth=1, engine="interpret")
    assert answer.exit_code == 3
    assert not answer.passed
