"""`--mutate`: the mutants of a user protocol, and which of them no property notices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from checker.explore.interpret import Interpreter
from checker.mutate.report import Mutated
from checker.mutate.run import SURVIVES, Campaign, Judged, mutants_in
from tests.transcript import file_of
from zabspec.model import Configuration, Model

TEXT = file_of("own/mutate", "light.py")
HELPING = file_of("own/mutate", "helping.py")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "helping.py").write_text(HELPING)
    made = tmp_path / "light.py"
    made.write_text(TEXT)
    return made


def run(path: Path, *words: object) -> Result:
    return CliRunner().invoke(main, ["--protocol", str(path), *[str(w) for w in words]])


def report(path: Path, *words: object) -> dict[str, Any]:
    ran = run(path, "--json", *words)
    found: dict[str, Any] = json.loads(ran.stdout)
    assert found["exit_code"] == ran.exit_code
    return found


def test_only_what_acts_is_mutated(path: Path) -> None:
    found = mutants_in(Model(Configuration(str(path))))
    assert {m.inside for m in found} == {"is_off", "on", "is_on", "off"}
    assert all(m.path == "light.py" for m in found)
    assert {m.inside for m in mutants_in(Model(Configuration(str(path), "bright")))} == {
        "is_off", "brighter", "is_on", "off",
    }  # fmt: skip


def test_a_comprehension_is_mutated_where_it_stands(path: Path) -> None:
    """What the front end makes of it is a function without a line of its own."""
    path.write_text(TEXT.replace("s.light[p] > 1\n\n\n@", "any(s.light[p] > k for k in (1, 4))\n\n\n@"))
    found = mutants_in(Model(Configuration(str(path))))
    assert {m.inside for m in found} == {"is_off", "on", "is_on", "off"}
    assert any("any(" in path.read_text().splitlines()[m.line - 1] for m in found)


@pytest.mark.slow(seconds=2)
def test_what_no_property_notices_is_listed_with_its_line(path: Path) -> None:
    found = report(path, "--mutate", 100)
    assert found["exit_code"] == 0
    assert len(found["mutants"]) + found["refused"] == found["possible"]
    by = {(m["line"], m["was"], m["now"]): m for m in found["mutants"]}
    lines = TEXT.splitlines()
    spare, light = lines.index("    s.spare[p] = 1") + 1, lines.index("    s.light[p] = 2") + 1
    assert by[spare, "1", "2"]["outcome"] == SURVIVES
    bright = by[light, "2", "3"]
    assert (bright["outcome"], bright["property"], bright["depth"]) == ("noticed", "not-too-bright", 1)
    dark = by[light, "2", "1"]
    assert (dark["outcome"], dark["no_longer_tested"]) == (SURVIVES, ["not-too-bright"])
    assert any(m["property"] == "no-runtime-error" for m in found["mutants"])  # a light below zero


def test_a_survivor_is_judged_by_no_progress_property(path: Path) -> None:
    """Which the report says where the protocol has one: what it changes may be what they are about."""
    survivor = Judged(mutants_in(Model(Configuration(str(path))))[0], SURVIVES)
    for names in ((), ("served",)):
        report = Mutated(Campaign(Configuration(str(path)), 0, 1, 1, 0, [survivor]), "light.py", None, names)
        said = " ".join(str(part) for part in report.parts())
        assert ("progress properties (served)" in " ".join(said.split())) == bool(names)


def test_which_are_drawn_follows_from_the_seed(path: Path) -> None:
    one, again, other = (report(path, "--mutate", 4, "--seed", seed)["mutants"] for seed in (5, 5, 6))
    assert one == again
    assert len(one) == 4
    assert [(m["line"], m["now"]) for m in one] != [(m["line"], m["now"]) for m in other]


def test_what_is_cut_short_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert report(path, "--mutate", 100, "--time-limit", 0.000001)["exit_code"] == 3
    ran, calls = Interpreter.run, []

    def run_until_interrupted(*given: Any, **named: Any) -> Any:
        calls.append(given)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return ran(*given, **named)

    monkeypatch.setattr(Interpreter, "run", run_until_interrupted)
    found = report(path, "--mutate", 100)
    assert (found["exit_code"], found["stopped"]) == (3, "interrupted")
    assert len(found["mutants"]) == 2
    assert found["sentence"].startswith("no verdict: interrupted; 2 of ")
