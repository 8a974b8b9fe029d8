"""docs/how-to/ci.md: its workflows are YAML as their readers want it, and their commands run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from click.testing import CliRunner

from checker.cli import main

PAGE = (Path(__file__).parents[2] / "docs/how-to/ci.md").read_text()
FILES = dict(re.findall(r"<!-- write: (\S+) -->\n```toml\n(.*?)```", PAGE, flags=re.DOTALL))
WORKFLOWS = dict(re.findall(r"<!-- workflow: (\S+) -->\n```yaml\n(.*?)```", PAGE, flags=re.DOTALL))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository as the page describes it, committed."""
    monkeypatch.chdir(tmp_path)
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    assert run("init", "tpc.py") == 0
    for name, text in FILES.items():
        # of two processes, in plain Python, so that nothing is compiled; what breaks then breaks at 5
        small = '[defaults]\nnodes = 2\nengine = "interpret"\nsymmetry = false\n'
        (tmp_path / name).write_text(text.replace("[defaults]\n", small).replace("= 7 }", "= 5 }"))
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@x", *words], check=True, capture_output=True)
    return tmp_path


def run(*words: str) -> int:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code in (0, 1), result.output
    return result.exit_code


def commands(scripts: Iterator[str]) -> Iterator[list[str]]:
    """The lines of scripts that are zabcheck's; folders are made, and packages are not installed."""
    for line in (line for script in scripts for line in script.splitlines()):
        words = shlex.split(os.path.expandvars(line))
        if words[0] == "zabcheck":
            yield words[1:]
        elif words[0] == "mkdir":
            Path(words[-1]).mkdir(exist_ok=True)
        else:
            assert line == "python -m pip install ."


def test_the_page_has_the_files_and_workflows_it_speaks_of() -> None:
    assert set(FILES) == {"zabcheck.toml"}
    assert set(WORKFLOWS) == {"github", "gitlab", "pre-commit"}


@pytest.mark.slow(seconds=2)
@pytest.mark.usefixtures("project")
def test_the_matrix_of_the_page_is_as_it_says() -> None:
    """As it stands there, three processes: the first depth at which the variant breaks is the tutorial's."""
    assert run("check") == 0
    Path("zabcheck.toml").write_text(FILES["zabcheck.toml"])
    assert run("check", "--only", "a-vote-too-few") == 0


@pytest.mark.slow(seconds=1)
def test_github_s_workflow_runs(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workflow: dict[Any, Any] = yaml.safe_load(WORKFLOWS["github"])
    assert set(workflow) == {"name", True, "permissions", "jobs"}, "YAML 1.1 reads `on` as true"
    assert set(workflow[True]) == {"push", "pull_request", "schedule"}
    steps = workflow["jobs"]["check"]["steps"]
    assert all(("run" in step) != ("uses" in step) for step in steps)
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    subprocess.run(["git", "update-ref", "refs/remotes/origin/main", "HEAD"], check=True)
    asked = list(commands(step["run"] for step in steps if "run" in step))
    assert [words[0] for words in asked] == ["check", "check"]
    for words in asked:
        assert run(*words) == 0
    uploads = {step["uses"].partition("@")[0]: step["with"] for step in steps if "with" in step}
    assert all(Path(name).exists() for name in uploads["actions/upload-artifact"]["path"].split())


@pytest.mark.slow(seconds=1)
@pytest.mark.usefixtures("project")
def test_gitlab_s_job_runs_and_leaves_what_it_keeps() -> None:
    job = yaml.safe_load(WORKFLOWS["gitlab"])["zabcheck"]
    for words in commands(iter(job["script"])):
        assert run(*words) == 0
    assert Path(job["artifacts"]["reports"]["junit"]).is_file()
    assert all(Path(name).exists() for name in job["artifacts"]["paths"])


def test_the_hook_runs_where_something_changed(project: Path) -> None:
    (hook,) = yaml.safe_load(WORKFLOWS["pre-commit"])["repos"][0]["hooks"]
    assert set(hook) == {"id", "name", "entry", "language", "files", "pass_filenames"}
    assert hook["pass_filenames"] is False
    assert all(re.search(hook["files"], name) for name in ("tpc.py", "zabcheck.toml"))
    (words,) = commands(iter([hook["entry"]]))
    assert run(*words) == 0
    text = (project / "tpc.py").read_text()
    good = "for p in range(s.NODES):"
    assert good in text
    Path("zabcheck.toml").write_text(Path("zabcheck.toml").read_text().replace("agreement = 5", "agreement = 6"))
    assert run(*words) == 1
