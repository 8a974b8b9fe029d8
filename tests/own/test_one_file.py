"""A property is one file: laid beside the others it is explored, explained, simulated and judged in tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("checker", "traces", "zabcheck", "zabspec")

NEW = '''
"""Two properties that do not hold."""

from __future__ import annotations

from invariants.registry import HISTORY, STATE, Property
from zabspec.language.python.lang import State, broken


def nobody_delivers(h: State) -> bool:
    """No process delivers anything."""
    for p in range(h.NODES):
        if len(h.delivered[p]) > 0:
            return broken(f"p{p} delivered {h.delivered[p][0]}, which p{h.abcast_by[0]} had broadcast")
    return True


def something_is_broadcast(h: State) -> bool:
    """A primary broadcasts."""
    return h.abcasts > 0


def nobody_promises(s: State) -> bool:
    """No process promises an epoch."""
    for p in range(s.NODES):
        if s.promised_epoch[p] > 0:
            return broken(f"p{p} has promised epoch {s.promised_epoch[p]}")
    return True


def somebody(s: State) -> bool:
    """There is a process."""
    return s.NODES > 0


PROPERTIES = (
    Property("nobody-delivers", HISTORY, "here", "a primary broadcasts", nobody_delivers, something_is_broadcast),
    Property("nobody-promises", STATE, "here", "there is a process", nobody_promises, somebody, protocols=("zab",)),
)
'''


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree with one file more."""
    folder = tmp_path_factory.mktemp("one")
    for name in PACKAGES:
        (folder / name).symlink_to(ROOT / name)
    (folder / "invariants").mkdir()
    for path in (ROOT / "invariants").iterdir():
        if path.name != "__pycache__":
            (folder / "invariants" / path.name).symlink_to(path)
    (folder / "invariants" / "mine.py").write_text(NEW)
    return folder


IN_ONE_PROCESS = """
import json, sys
from click.testing import CliRunner
from checker.cli import main
answers = [CliRunner().invoke(main, [*words, "--json"]) for words in json.loads(sys.argv[1])]
print(json.dumps([[a.exit_code, json.loads(a.stdout)] for a in answers]))
"""
ASKED = (
    "--nodes 1 --txns 1 --timeouts 0 --crashes 0 --losses 0 --keep-going --engine interpret"
    " --property nobody-delivers --property nobody-promises",
    "simulate --seed 14 --rounds 300 --proposals 1 --engine interpret --check --table run.parquet",
    "judge run.parquet --property nobody-delivers",
)


@pytest.fixture(scope="module")
def answers(tree: Path) -> Any:
    """What three commands say in the tree: exit codes, and JSON."""
    pytest.importorskip("pyarrow")
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    made = subprocess.run(
        [sys.executable, "-c", IN_ONE_PROCESS, json.dumps([line.split() for line in ASKED])],
        cwd=tree, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)


@pytest.mark.slow(seconds=3)
def test_it_is_explored_and_explained(answers: Any) -> None:
    code, said = answers[0]
    assert code == 1
    why = {p["name"]: p["violation"]["why"] for p in said["properties"]}
    assert why["nobody-delivers"].startswith("p0 delivered t1 <1,1>, which p0 had broadcast. Step ")
    assert why["nobody-delivers"].endswith("p0 delivers t1 <1,1>.")
    assert why["nobody-promises"].startswith("p0 has promised epoch 1. Step ")
    assert why["nobody-promises"].endswith("p0.promised_epoch 0 -> 1.")


@pytest.mark.slow(seconds=1)
def test_it_is_judged_of_simulated_runs_and_of_their_tables(answers: Any) -> None:
    (code, said), (other, judged) = answers[1:]
    assert code == other == 1
    simulated = next(p for p in said["properties"] if p["name"] == "nobody-delivers")
    (violation,) = judged["violations"]
    assert (violation["time"], violation["why"]) == (simulated["tick"], simulated["why"])
    assert [(e["kind"], e["txn"]) for e in violation["events"]] == [("abcast", "t1 <1,1>"), ("abdeliver", "t1 <1,1>")]
