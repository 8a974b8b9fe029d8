"""The recipes of CONTRIBUTING.md, followed to the letter in a copy of the tree."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from tests.fuzz import ends
from tests.patience import HANG
from traces.record.instrumented import InstrumentedWorld
from traces.record.worlds import BY_NAME, EVERY
from zabspec.language import Int
from zabspec.worlds import actor
from zabspec.worlds.steps import BUDGETS, KINDS

TOP = Path(__file__).parents[2]
PAGE = (TOP / "CONTRIBUTING.md").read_text()
PACKAGES = ("zabcheck", "zabspec", "invariants", "traces", "checker")
BLOCK = re.compile(r"<!-- recipe (\w+): (.*?) -->\n```\w+\n(.*?)```", re.DOTALL)
PLACE = re.compile(r'(\S+), (?:new|(before|after) "(.*)")')
# How many files of code a change of each kind touches at most.
MOST_FILES = {"property": 1, "step": 1, "variant": 2, "protocol": 0, "fault": 5, "format": 1, "command": 2}


def parts(recipe: str) -> tuple[list[tuple[str, str, str, str]], list[str], list[str]]:
    """A recipe: its edits (file, before or after which line, text; neither: a new file), commands, what they say."""
    edits, commands, says = [], [], []
    for name, what, text in BLOCK.findall(PAGE):
        if name != recipe:
            continue
        if what == "run":
            commands += text.splitlines()
        elif what == "says":
            says += text.splitlines()
        else:
            place = PLACE.fullmatch(what)
            assert place is not None, what
            edits.append((place[1], place[2], place[3], text + "\n\n" * text.startswith("def ")))
    return edits, commands, says


def edited(text: str, side: str, mark: str, what: str) -> str:
    """A text with something put before, or after, the first line that has a mark in it."""
    lines = text.splitlines(keepends=True)
    at = next(k for k, line in enumerate(lines) if mark in line)
    lines.insert(at + (side == "after"), what)
    return "".join(lines)


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


@pytest.fixture
def follow(copied: Path) -> Callable[[str], Path]:
    """Follows a recipe in a copy of the packages; returns where."""

    def followed(recipe: str) -> Path:
        edits, commands, says = parts(recipe)
        for file, side, mark, what in edits:
            path = copied / file
            path.write_text(edited(path.read_text(), side, mark, what) if side else what)
        assert len({file for file, *_ in edits}) <= MOST_FILES[recipe]
        (copied / "zoo.cfg").write_text("".join(f"server.{k}=a:1:2\n" for k in (1, 2, 3)))
        told = "".join(run(copied, line) for line in commands)
        assert commands
        for line in says:
            assert " ".join(line.split()) in " ".join(told.split()), told
        return copied

    return followed


def run(folder: Path, line: str) -> str:
    """What a command says in the copy."""
    program, *words = shlex.split(line)
    assert program == "zabcheck"
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-m", "zabcheck", *words],
        check=False, capture_output=True, text=True, cwd=folder, env=environment, timeout=HANG,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    assert not done.stderr
    return done.stdout


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("recipe", ["property", "step", "variant", "protocol", "format", "command"])
def test_a_recipe_works_as_it_is_written(recipe: str, follow: Callable[[str], Path]) -> None:
    follow(recipe)


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
def test_a_fault_by_the_recipe_is_explored_and_replays(follow: Callable[[str], Path]) -> None:
    folder = follow("fault")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", REPLAYED], check=False, capture_output=True, text=True, cwd=folder, env=environment
    )
    assert (done.returncode, done.stdout) == (0, "network: blackout\n"), done.stderr


def test_every_world_is_named_where_the_recipe_says_and_only_there() -> None:
    called = {f"over_{name}" for name in BY_NAME}
    assert {path.stem for path in (TOP / "zabspec/worlds").glob("over_*.py")} == called
    assert {path.stem for path in (TOP / "traces/record").glob("over_*.py")} == called
    for watched in EVERY:
        world = watched.world
        assert world.name in {name for k in KINDS.values() for name in k.worlds}
        assert world.name in {name for b in BUDGETS.values() for name in b.usual}
        offered = {n for n, f in vars(actor).items() if hasattr(f, "acts")}
        assert offered & set(vars(world.text)), "it provides something to handlers"
        assert {"enabled", "apply", "initialize"} <= set(vars(world.text))
    places = {f"traces/record/{name}.py" for name in called}
    # these enter them, and say what speaks over which
    places |= {"traces/record/worlds.py", "zabspec/protocols/registry.py"}
    named = {
        path.relative_to(TOP).as_posix()
        for package in PACKAGES
        for path in (TOP / package).rglob("*.py")
        if any(re.search(rf"\b{name}\b", path.read_text()) for name in called)
    }
    assert named == places


@pytest.mark.parametrize("watched", EVERY, ids=lambda watched: str(watched.world.name))
def test_the_simulator_has_an_order_for_every_network(watched: InstrumentedWorld) -> None:
    order = next(f.kind for f in watched.world.simulated_fields() if f.name == "order")
    assert isinstance(order, Int)
    assert (order.lo, order.hi) == (0, max(watched.world.networks.values()))


def test_every_recipe_is_followed() -> None:
    assert {name for name, _, _ in BLOCK.findall(PAGE)} == set(MOST_FILES)


@pytest.mark.parametrize("watched", EVERY, ids=lambda watched: str(watched.world.name))
def test_pages_and_help_name_every_network(watched: InstrumentedWorld) -> None:
    helps = {
        name: option.help
        for name in ends.names()
        for option in ends.command(name).params
        if isinstance(option, click.Option) and option.name in ("network", "networks")
    }
    assert helps.keys() >= {"", "bmc", "export", "induct", "simulate", "sweep"}
    for network in watched.world.networks:
        for page in ("reference/faults-and-networks.md", "reference/semantics.md"):
            text = (TOP / "docs" / page).read_text()
            assert f"`{network}`" in text or f"## {network}" in text, page
        for name, said in helps.items():
            assert said is not None
            assert network in said or said == "As for `zabcheck`.", name
