"""`action.yml` and `.pre-commit-hooks.yaml`: what other repositories run does what it says."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.patience import HANG

TOP = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text())}
STEPS = yaml.safe_load((TOP / "action.yml").read_text())["runs"]["steps"]


def ended(words: list[str], cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"} | more
    return subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=environment, timeout=HANG, check=False)


@pytest.mark.slow(seconds=3)
def test_the_hook_reports_each_wrong_protocol(tmp_path: Path) -> None:
    shutil.copy(TOP / "examples/two_phase_commit.py", tmp_path / "right one.py")
    wrong = (tmp_path / "right one.py").read_text().replace("return ", "retrun ", 1)
    (tmp_path / "wrong.py").write_text(wrong)
    words = shlex.split(HOOKS["zabcheck-lint"]["entry"])
    assert ended([*words, "right one.py"], tmp_path).returncode == 0
    done = ended([*words, "wrong.py", "right one.py"], tmp_path)
    assert done.returncode == 1
    assert "wrong.py" in done.stdout + done.stderr
    assert "right one.py: no mistakes" in done.stdout
    assert ended(shlex.split(HOOKS["zabcheck-check"]["entry"]), tmp_path).returncode == 2


@pytest.mark.slow(seconds=1)
def test_the_action_passes_words_and_runs_nothing_that_an_input_holds(tmp_path: Path) -> None:
    (tmp_path / "zabcheck").mkdir()
    (tmp_path / "zabcheck/bin").symlink_to(BIN)
    words = ["bash", "-e", "-c", STEPS[-1]["run"]]
    done = ended(words, tmp_path, RUNNER_TEMP=str(tmp_path), ARGUMENTS="none.toml --only $(touch made)")
    assert done.returncode == 2
    assert not (tmp_path / "made").exists()
    done = ended(words, tmp_path, RUNNER_TEMP=str(tmp_path), ARGUMENTS="none.toml --only joins")
    assert (done.returncode, "none.toml: No such file" in done.stderr) == (2, True)
    assert all("${{" not in step.get("run", "") for step in STEPS)
