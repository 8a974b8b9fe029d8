"""The recipes of docs/recipes, each run in a copy of the tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import HANG
from traces.record.instrumented import InstrumentedWorld
from traces.record.worlds import EVERY
from zabspec.language import Int

TOP = Path(__file__).parents[2]
RECIPES = TOP / "docs/recipes"
PACKAGES = ("zabcheck", "zabspec", "invariants", "traces", "checker")
# How many files of code a change of each kind touches at most.
MOST_FILES = {"property": 1, "step": 1, "variant": 2, "protocol": 0, "fault": 6, "format": 1, "request": 1, "option": 1}


def bytecode_of(folder: Path) -> Path | None:
    """Where the bytecode of a folder is kept, unless it is beside its text (`beforehand.keep_bytecode`)."""
    return Path(sys.pycache_prefix, *folder.resolve().parts[1:]) if sys.pycache_prefix else None


@pytest.fixture
def copied(tmp_path: Path) -> Iterator[Path]:
    """A copy of the packages with their bytecode: a file that is as old and as large is not compiled again."""
    for package in (*PACKAGES, "examples"):
        shutil.copytree(TOP / package, tmp_path / package)
        made, kept = bytecode_of(TOP / package), bytecode_of(tmp_path / package)
        if made and kept and made.is_dir():
            shutil.copytree(made, kept)
    yield tmp_path
    if kept := bytecode_of(tmp_path):
        shutil.rmtree(kept, ignore_errors=True)


def follow(recipe: str, folder: Path) -> None:
    """Run a recipe in a copy of the packages: each of its commands has to print what it says."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, str(RECIPES / f"{recipe}.py")],
        check=False, capture_output=True, text=True, cwd=folder, env=environment, timeout=HANG,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
    assert any(what == "ran" for what, _ in lines)
    edited = {file for what, file in lines if what == "edits" and file.startswith(PACKAGES)}
    assert len(edited) == MOST_FILES[recipe]


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("recipe", sorted(MOST_FILES.keys() - {"fault"}))
def test_a_recipe_works_as_it_is_written(recipe: str, copied: Path) -> None:
    follow(recipe, copied)


@pytest.mark.slow(seconds=2)
def test_a_recipe_fails_where_a_command_says_something_else(copied: Path) -> None:
    program = "from recipe import run\nrun('zabcheck variants joiner', 'nothing of the kind')\n"
    environment = {**os.environ, "PYTHONPATH": f"{copied}{os.pathsep}{RECIPES}"}
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, cwd=copied, env=environment
    )
    assert done.returncode == 1
    assert "without ['nothing of the kind']" in done.stderr


REPLAYED = """
from traces import Runner, Trace, headline, state_json, verify
from traces.replay.replay import replay
from zabspec.model import Configuration, Model
from zabspec.worlds.steps import KINDS

asked = Configuration(protocol="db19", nodes=2, txns=1, timeouts=2, blackouts=1)
runner = Runner(Model(asked))
initial = state_json(runner.state)
kinds = ["election_timeout", "election_timeout", "blackout"]
steps = []
for kind in kinds:
    steps.append(runner.step(next(w for w in runner.possible() if w >> 24 & 255 == KINDS[kind].number)))
assert steps[1].state["in_flight"] and not steps[2].state["in_flight"]
trace = Trace(asked, "", "", "", initial, tuple(steps), "test")
verify(trace)
assert replay(trace).steps == trace.steps
print(headline(steps[-1]))
"""


@pytest.mark.slow(seconds=4)
def test_a_fault_by_the_recipe_is_explored_and_replays(copied: Path) -> None:
    follow("fault", copied)
    environment = {**os.environ, "PYTHONPATH": str(copied)}
    done = subprocess.run(
        [sys.executable, "-c", REPLAYED], check=False, capture_output=True, text=True, cwd=copied, env=environment
    )
    assert (done.returncode, done.stdout) == (0, "network: blackout\n"), done.stderr


@pytest.mark.parametrize("watched", EVERY, ids=lambda watched: str(watched.world.name))
def test_the_simulator_has_an_order_for_every_network(watched: InstrumentedWorld) -> None:
    order = next(f.kind for f in watched.world.simulated_fields() if f.name == "sim_order")
    assert isinstance(order, Int)
    assert (order.lo, order.hi) == (0, max(watched.world.networks.values()))


def test_every_recipe_is_followed_and_named() -> None:
    assert {path.stem for path in RECIPES.glob("*.py")} - {"recipe"} == set(MOST_FILES)
    page = (TOP / "CONTRIBUTING.md").read_text()
    assert not [name for name in MOST_FILES if f"(docs/recipes/{name}.py)" not in page]
