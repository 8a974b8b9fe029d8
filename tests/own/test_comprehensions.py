"""Comprehensions, `any`, `all`, `sum`, `min`, `max` and sets, wherever an expression may be, as loops by hand."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from checker.cli import main
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from checker.explore.symmetry import found_in
from invariants import properties_of
from tests.second.harness.question import Question
from tests.second.reference import explore
from tests.transcript import file_of
from zabspec.model import Configuration, Model

TEXT = file_of("own/comprehensions", "tells.py")


def written(folder: Path, *changes: tuple[str, str]) -> str:
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "tells.py").write_text(text)
    return str(folder / "tells.py")


def question(path: str) -> dict[str, object]:
    budgets = {"tells": 2, "crashes": 1}
    return {"protocol": path, "nodes": 2, "network": "datagrams", "budgets": budgets, "properties": []}


def test_every_state_is_the_second_semantics(tmp_path: Path) -> None:
    """As many states, by the compiled and the interpreted search, as the second semantics reaches; and fewer orbits."""
    path = written(tmp_path)
    plain = explore(question(path))
    asked = Question(question(path))
    every = Interpreter(asked.model, (), False, every_step=True).run(Limits(), False)
    assert plain["complete"]
    assert len(plain["states"]) == sum(every.levels) > 300
    whole = ["--no-symmetry", "--reduction", "none", "--no-trace"]
    found = CliRunner().invoke(main, ["--protocol", path, "--nodes", "2", *whole])
    assert f"distinct states        {sum(every.levels)}\n" in found.stdout
    model = Model(Configuration(protocol=path, nodes=3))
    assert found_in(model, properties_of(path)) == []
