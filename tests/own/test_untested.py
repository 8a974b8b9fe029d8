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
from tests.transcript import file_of

TEXT = START.read_text(encoding="utf-8")
MORE = '''def anything(s: State) -> bool:
    """It is asked."""
    return True


def in_range(s: State) -> bool:
    return s.phase[0] >= 0


def twice(s: State, p: Node) -> int:
    return 2 * s.phase[p]


def is_vote(s: State, m: VOTE) -> bool:
    """Of no use."""
    return m.yes or not m.yes


@safety(witness=anything)
def vain(TAKES) -> bool:
    """What cannot fail."""
    BODY


'''


def written(tmp_path: Path, body: str, takes: str = "s: State") -> Path:
    path = tmp_path / "tpc.py"
    more = MORE.replace("BODY", body).replace("TAKES", takes)
    path.write_text(TEXT.replace("PROTOCOL = declare(", more + "PROTOCOL = declare("))
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


@pytest.mark.slow(seconds=2)
def test_a_run_of_properties_that_cannot_fail_is_no_verdict(tmp_path: Path) -> None:
    path, cases = written(tmp_path, "return s.phase[0] < 9"), tmp_path / "cases.xml"
    words = ["--protocol", path, "--nodes", 2, "--depth", 2, "--engine", "interpret", "--property", "vain"]
    ran = run(*words, "--json", "--junit", cases)
    assert ran.exit_code == 3
    found = json.loads(ran.stdout)
    assert (found["verdict"], found["exit_code"]) == ("can never be False", 3)
    assert "no property (1 checked) was put to the test, 1 can never be False" in found["sentence"]
    first = found["properties"][0]
    assert (first["verdict"], first["witnessed_at"]) == ("can never be False", 0)
    assert any("vain is never False at this size (tpc.py:" in said for said in found["unused"])
    assert "not put to the test: it can never be False" in run(*words).stdout
    assert ElementTree.parse(cases).getroot().get("errors") == "1"


@pytest.mark.slow(seconds=2)
def test_beside_one_that_is_tested_it_is_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "return True")
    ran = run("--protocol", path, "--nodes", 2, "--crashes", 0, "--engine", "interpret")
    assert ran.exit_code == 0
    assert "1 of 2 properties put to the test, 1 can never be False" in " ".join(ran.stdout.split())


@pytest.mark.slow(seconds=1)
def test_a_run_in_which_no_premise_is_met_is_no_verdict(tmp_path: Path) -> None:
    words = ["--nodes", 2, "--depth", 1, "--engine", "interpret"]
    assert run("--protocol", written(tmp_path, "return True"), *words, "--property", "agreement").exit_code == 3
    assert run("--txns", 1, *words).exit_code == 3
    answer = zabcheck.explore("zab", nodes=2, txns=1, depth=1, engine="interpret")
    assert answer.exit_code == 3
    assert not answer.passed


@pytest.mark.slow(seconds=10)
def test_a_run_does_not_put_to_the_test_what_cannot_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No engine reports that it holds: neither of one run, nor of many, nor beside an expectation."""
    monkeypatch.chdir(tmp_path)
    text = written(tmp_path, "return True").read_text(encoding="utf-8")
    vain = text.replace("@safety(witness=anything)", '@safety(over="history", witness=anything)')
    (tmp_path / "tpc.py").write_text(vain.replace('@safety(over="history", witness=two_decided)\n', ""))
    simulated = run("simulate", "--protocol", "tpc.py", "--seed", 3, "--rounds", 40, "--check")
    assert (simulated.exit_code, "vain      can never be False" in simulated.stdout) == (3, True)
    swept = run("sweep", "swept", "--protocol", "tpc.py", "--seeds", "1:3", "--rounds", 40)
    assert "Put to the test in no run: vain" in " ".join(swept.stdout.split())
    assert run("--protocol", "tpc.py", "--nodes", 2, "--mutate", 1, "--seed", 1).exit_code == 3
    bounded = run("bmc", "--protocol", "tpc.py", "--nodes", 2, "--channel", 2, "--depth", 2)
    assert (bounded.exit_code, bounded.stdout.startswith("can never be False: 0 of 1 property")) == (3, True)
    assert run("--protocol", "tpc.py", "--nodes", 2, "--witness", "vain", "--trace", "run.trace.json").exit_code == 0
    expect = 'expect = { verdict = "holds", source = "nowhere" }'
    checks = ["nodes = 2", 'engine = "simulate"\nseed = 3\nrounds = 40', 'engine = "replay"\ntrace = "run.trace.json"']
    tables = [f'[[check]]\nname = "c{k}"\nprotocol = "tpc.py"\n{of}\n{expect}\n' for k, of in enumerate(checks)]
    (tmp_path / "zabcheck.toml").write_text("\n".join(tables))
    assert run("check").stdout.startswith("DIFFERS: 3 of 3 checks")


def test_what_can_fail_in_a_run_is_decided_at_its_size(tmp_path: Path) -> None:
    """What cannot fail as the protocol is declared can in a run with a larger parameter."""
    path = tmp_path / "climb.py"
    text = file_of("own/terminal", "climb.py").replace("Range(0, 9)", "Range(0, lambda size: size.jobs)")
    few = '@safety(witness=lambda s: s.level[0] == 1)\ndef few(s: State) -> bool:\n    """Few."""\n    return '
    few = few.replace("lambda s: s.level[0] == 1", "one") + "s.level[0] <= 3\n\n\nPROTOCOL ="
    one = 'def one(s: State) -> bool:\n    """One."""\n    return s.level[0] == 1\n\n\n'
    text = text.replace("    STEPS: int", '    JOBS: int = parameter("jobs", 3)').replace("PROTOCOL =", one + few)
    path.write_text(text.replace("declare,", "declare, parameter, safety,"), "utf-8")
    words = ["simulate", "--protocol", path, "--check", "--jobs"]
    assert "can never be False" in run(*words, 3).stdout
    assert run(*words, 5).stdout.split()[-2:] == ["few", "holds"]
