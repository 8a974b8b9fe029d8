"""A property is one file: laid beside the others it is explored, explained, simulated and judged in tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("checker", "traces", "zabcheck", "zabspec")

NEW = '''
"""Two properties that do not hold."""

from __future__ import annotations

from invariants.registry import HISTORY, STATE, Property
from zabspec.language.lang import State, broken


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


def run(tree: Path, *words: str) -> tuple[int, Any]:
    """What a command says in the tree, as JSON."""
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    made = subprocess.run(
        [sys.executable, "-m", "zabcheck", *words, "--json"],
        cwd=tree, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.stdout, made.stderr
    return made.returncode, json.loads(made.stdout)


def test_it_is_explored_and_explained(tree: Path) -> None:
    budgets = ("--nodes", "1", "--txns", "1", "--timeouts", "0", "--crashes", "0", "--losses", "0")
    asked = ("--property", "nobody-delivers", "--property", "nobody-promises", "--keep-going", "--engine", "interpret")
    code, said = run(tree, *budgets, *asked)
    assert code == 1
    why = {p["name"]: p["violation"]["why"] for p in said["properties"]}
    assert why["nobody-delivers"].startswith("p0 delivered t1 <1,1>, which p0 had broadcast. Step ")
    assert why["nobody-delivers"].endswith("p0 delivers t1 <1,1>.")
    assert why["nobody-promises"].startswith("p0 has promised epoch 1. Step ")
    assert why["nobody-promises"].endswith("p0.promised_epoch 0 -> 1.")


def test_it_is_judged_of_simulated_runs_and_of_their_tables(tree: Path) -> None:
    pytest.importorskip("pyarrow")
    played = ("simulate", "--seed", "14", "--rounds", "300", "--proposals", "1", "--engine", "interpret")
    code, said = run(tree, *played, "--check", "--table", "run.parquet")
    assert code == 1
    simulated = next(p for p in said["properties"] if p["name"] == "nobody-delivers")
    code, said = run(tree, "judge", "run.parquet", "--property", "nobody-delivers")
    (violation,) = said["violations"]
    assert code == 1
    assert (violation["time"], violation["why"]) == (simulated["tick"], simulated["why"])
    assert [(e["kind"], e["txn"]) for e in violation["events"]] == [("abcast", "t1 <1,1>"), ("abdeliver", "t1 <1,1>")]
