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
from invariants import properties_of
from invariants.binding import vacuous
from zabspec.model import Configuration, Model

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
    "or not": "return s.phase[0] == 1 or not (s.phase[0] == 1)",
    "below or not": "return s.phase[0] < 2 or s.phase[0] >= 2",
    "an order": "return s.phase[0] <= s.phase[1] or s.phase[1] <= s.phase[0]",
    "a name for it": "x = s.phase[0]\n    y = x\n    return y == s.phase[0]",
    "kept from rounds": "ok = True\n    for p in range(s.NODES):\n        if s.phase[p] > 7:\n            ok = False\n"
    "    return ok",
    "counted": "n = 0\n    for p in range(s.NODES):\n        if s.phase[p] == 2:\n            n = n + 1\n"
    "    return n <= s.NODES",
    "rest": "return s.phase[0] % 3 < 3 and (s.phase[1] & 1) < 2 and s.phase[0] * 0 == 0",
    "one of all": "return s.phase[0] in (0, 1, 2, 3)",
    "a member or not": "return 0 in s.agreed[0] or 0 not in s.agreed[0]",
    "itself and itself": "for p in range(s.NODES):\n        for q in range(s.NODES):\n"
    "            if p == q and s.phase[p] != s.phase[q]:\n                return False\n    return True",
    "not twice": "if s.phase[0] == 1:\n        if s.phase[0] == 2:\n            return False\n    return True",
    "a helper of it": "return twice(s, 0) == twice(s, 0) and twice(s, 1) % 2 == 0",
}
MAY_BE_FALSE = {
    "kept": "x = 1\n    for p in range(s.NODES):\n        if s.phase[p] == 2:\n            x = 0\n    return x == 1",
    "side": "x = 1\n    if s.phase[0] == 2:\n        x = 0\n    return x > 0",
    "counted": "n = 0\n    for m in s.in_flight:\n        n = n + 1\n    return n < 5",
    "rounds": "x = 1\n    if s.phase[0] == 1:\n        for p in range(s.NODES):\n            x = p - 1\n"
    "    return x != 0",
    "two": "return s.phase[0] == 1 or s.phase[1] != 1",
    "one value": "return s.phase[0] in (0, 1, 2)",
    "a size": "return len(s.agreed[0]) != 2",
    "a helper": "return twice(s, 0) < 6",
    "in one case of many": "for p in range(s.NODES):\n        if s.phase[p] != 3 or len(s.agreed[p]) != 2:\n"
    "            return True\n    return s.begins_left != 0",
    "what may err": "return 6 // (s.phase[0] - 2) != 6",
    "a message": "for m in s.in_flight:\n        if m.kind == VOTE and m.source == 0:\n            return False\n"
    "    return True",
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


@pytest.mark.parametrize(
    "body", ["return m.source >= -1", "return m.yes or not m.yes", "return is_vote(s, m)", "return m.target != 9"]
)
def test_what_is_asked_of_messages_may_be_vain_too(tmp_path: Path, body: str) -> None:
    path = str(written(tmp_path, body, "s: State, m: VOTE"))
    assert vacuous(Model(Configuration(path, nodes=2)), properties_of(path)).keys() == {"vain"}


@pytest.mark.parametrize("body", ["return m.yes", "return m.source != m.target or not m.yes"])
def test_and_may_not(tmp_path: Path, body: str) -> None:
    path = str(written(tmp_path, body, "s: State, m: VOTE"))
    assert not vacuous(Model(Configuration(path, nodes=2)), properties_of(path))


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
    assert any("vain is never False, whatever happens (tpc.py:" in said for said in found["unused"])
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
    """No engine reports that it holds: neither of one run, nor of many, nor of a table, nor beside an expectation."""
    monkeypatch.chdir(tmp_path)
    text = written(tmp_path, "return True").read_text(encoding="utf-8")
    vain = text.replace("@safety(witness=anything)", '@safety(over="history", witness=anything)')
    (tmp_path / "tpc.py").write_text(vain.replace('@safety(over="history", witness=two_decided)\n', ""))
    simulated = run("simulate", "--protocol", "tpc.py", "--seed", 3, "--rounds", 40, "--check")
    assert (simulated.exit_code, "premise not reached" in simulated.stdout) == (3, True)
    assert run("simulate", "--protocol", "tpc.py", "--seed", 3, "--rounds", 40, "--table", "run.parquet").exit_code == 0
    judged = json.loads(run("judge", "run.parquet", "--json").stdout)
    assert judged["exit_code"] == 3
    swept = run("sweep", "swept", "--protocol", "tpc.py", "--seeds", "1:3", "--rounds", 40)
    assert "Never checked non-vacuously: vain" in " ".join(swept.stdout.split())
    assert run("--protocol", "tpc.py", "--nodes", 2, "--mutate", 1, "--seed", 1).exit_code == 3
    assert run("bmc", "--protocol", "tpc.py", "--nodes", 2, "--channel", 2, "--depth", 2).exit_code == 3
    assert run("--protocol", "tpc.py", "--nodes", 2, "--witness", "vain", "--trace", "run.trace.json").exit_code == 0
    expect = 'expect = { verdict = "holds", source = "nowhere" }'
    checks = ["nodes = 2", 'engine = "simulate"\nseed = 3\nrounds = 40', 'engine = "replay"\ntrace = "run.trace.json"']
    tables = [f'[[check]]\nname = "c{k}"\nprotocol = "tpc.py"\n{of}\n{expect}\n' for k, of in enumerate(checks)]
    (tmp_path / "zabcheck.toml").write_text("\n".join(tables))
    assert run("check").stdout.startswith("DIFFERS: 3 of 3 checks")
