"""`--changed-since`: a check is left out only where nothing that its verdict rests on can have changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.ci import changed
from checker.ci.changed import touched
from checker.ci.configuration import read_matrix
from checker.cli import main
from checker.commands.init import START
from zabspec.authoring import sources

MATRIX = """
[defaults]
nodes = 2
[[check]]
name = "mine"
protocol = "tpc.py"
expect = { verdict = "holds", source = "x" }
[[check]]
name = "other"
protocol = "sub/other.py"
expect = { verdict = "holds", source = "x" }
[[check]]
name = "zab"
expect = { verdict = "holds", source = "x" }
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit: two protocols, of which one imports a module beside it."""
    monkeypatch.chdir(tmp_path)
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "sub").mkdir()
    text = START.read_text()
    (tmp_path / "tpc.py").write_text(text)
    (tmp_path / "sub/beside.py").write_text("MANY = 1\n")
    future = "from __future__ import annotations\n"
    assert text.count(future) == 1
    (tmp_path / "sub/other.py").write_text(text.replace(future, f"{future}\nfrom beside import MANY\n\nASKED = MANY\n"))
    (tmp_path / "zabcheck.toml").write_text(MATRIX)
    (tmp_path / "README").write_text("x")
    (tmp_path / "sub/requirements-dev.txt").write_text("zabcheck==0.1\n")
    git("init", "-q", "-b", "main")
    committed("first")
    return tmp_path


def git(*words: str) -> None:
    subprocess.run(["git", *words], check=True, capture_output=True)


def committed(words: str) -> None:
    git("add", "-A")
    git("-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", words)


def names(revision: str = "HEAD") -> list[str]:
    return [check.name for check in touched(read_matrix(Path("zabcheck.toml")), revision)]


ALL = ["mine", "other", "zab"]


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    ("file", "more", "rerun"),
    [
        ("README", "y", []),
        ("tpc.py", "# more\n", ["mine"]),
        ("sub/other.py", "# more\n", ["other"]),
        ("sub/beside.py", "# more\n", ["other"]),
        ("sub/new file.py", "MANY = 2\n", []),
        ("sub/requirements-dev.txt", "# more\n", ALL),
        ("requirements/ci.txt", "# more\n", ALL),
        ("pyproject.toml", "# more\n", ALL),
        ("uv.lock", "# more\n", ALL),
        (".github/workflows/check.yml", "- run: pip install zabcheck==2\n", ALL),
        ("zabcheck.toml", "# more\n", []),
    ],
)
def test_what_a_change_touches_is_run(file: str, more: str, rerun: list[str]) -> None:
    assert names() == []
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    with Path(file).open("a") as out:
        out.write(more)
    assert names() == rerun
    git("add", "-A")
    assert names() == rerun, "what is staged counts"
    git("-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", "second")
    assert names("HEAD~1") == rerun
    assert names() == []


CFG = "server.1=a:1:2\nserver.2=b:1:2\ngroup.1=1:2\nweight.1=1\nweight.2=1\n"


DYNAMIC = "standaloneEnabled=false\ndynamicConfigFile=zoo.cfg.dynamic.1\n"


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("servers", ["zoo.cfg", "zoo.cfg.dynamic.1"])
def test_a_file_that_a_check_names_is_one_that_it_rests_on(servers: str) -> None:
    Path("zoo.cfg").write_text(DYNAMIC)
    Path(servers).write_text(CFG)
    Path("zabcheck.toml").write_text(MATRIX.replace('"zab"', '"zab"\nquorums = "zoo.cfg"'))
    committed("quorums")
    assert names() == []
    Path(servers).write_text(CFG.replace("weight.2=1", "weight.2=3"))
    assert names() == ["zab"]


def test_what_git_does_not_follow_is_run(repository: Path) -> None:
    text = (repository / "tpc.py").read_text()
    (repository / "ignored").mkdir()
    (repository / "ignored/tpc.py").write_text(text)
    (repository / ".gitignore").write_text("ignored\n")
    inner = repository / "inner"
    inner.mkdir()
    git("-C", str(inner), "init", "-q")
    (inner / "tpc.py").write_text(text)
    git("-C", str(inner), "add", "-A")
    git("-C", str(inner), "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", "inner")
    (repository / "zabcheck.toml").write_text(
        MATRIX.replace("tpc.py", "ignored/tpc.py").replace("sub/other.py", "inner/tpc.py")
    )
    committed("second")
    assert names() == ["mine", "other"]
    (repository / "zabcheck.toml").write_text(MATRIX)
    committed("third")
    assert names() == []
    git("update-index", "--assume-unchanged", "tpc.py")
    assert names() == ["mine"]


def test_what_a_name_leads_to_now_is_run(repository: Path) -> None:
    """A link to a folder leads elsewhere; Python finds another module of a name where one was removed."""
    (repository / "two").mkdir()
    (repository / "two/tpc.py").write_text((repository / "tpc.py").read_text() + "# two\n")
    (repository / "one").mkdir()
    (repository / "one/tpc.py").write_text((repository / "tpc.py").read_text())
    (repository / "link").symlink_to("one")
    (repository / "sub/beside").mkdir()
    (repository / "sub/beside/__init__.py").write_text("MANY = 2\n")
    (repository / "zabcheck.toml").write_text(MATRIX.replace('"tpc.py"', '"link/tpc.py"'))
    committed("second")
    assert names() == []
    (repository / "link").unlink()
    (repository / "link").symlink_to("two")
    assert names() == ALL
    git("checkout", "link")
    (repository / "sub/beside/__init__.py").unlink()
    assert names() == ["other"]


def test_an_example_is_a_file(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "zabcheck.toml").write_text(MATRIX.replace('"tpc.py"', '"example:tpc"'))
    committed("second")
    monkeypatch.setattr(sources, "examples", lambda: {"tpc": repository / "tpc.py"})
    assert names() == []
    with (repository / "tpc.py").open("a") as out:
        out.write("# more\n")
    assert names() == ["mine"]


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    "line",
    [
        "import json", "from typing import get_type_hints", "from pathlib import Path", "import os.path as p",
        "MOST = len(open(__file__).read())",
        "from enum import sys", "from enum import bltns as b", "import enum\nMOST = len(enum.sys.path)",
        "import zabcheck", "from collections import _sys", "MOST = len(vars())", "from zabcheck import explore",
    ],
)  # fmt: skip
def test_a_protocol_that_may_read_data_is_run(line: str) -> None:
    with Path("tpc.py").open("a") as out:
        out.write(f"\n{line}\n")
    committed("reads")
    assert names() == ["mine"]


@pytest.mark.usefixtures("repository")
def test_a_field_with_the_name_of_a_module_is_none() -> None:
    """Nor is the function `types`."""
    with Path("tpc.py").open("a") as out:
        out.write("\n\ndef may(s: State, p: Node, m: Yes) -> bool:\n    return s.queue[p] == m.token == types(s)\n")
    committed("fields")
    assert names() == []


@pytest.mark.usefixtures("repository")
def test_a_protocol_in_a_folder_called_os_may_import_the_other() -> None:
    Path("os").mkdir()
    Path("os/tpc.py").write_text(Path("tpc.py").read_text() + "\nimport os\n")
    Path("zabcheck.toml").write_text(MATRIX.replace("tpc.py", "os/tpc.py"))
    committed("reads")
    assert names() == ["mine"]


def test_a_module_elsewhere_may_have_the_name_of_the_protocols_folder(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of its package beside the protocol is followed; the part elsewhere is not, so the check is run."""
    monkeypatch.syspath_prepend(str(repository))
    for folder in ("shared", "a/shared"):
        Path(folder).mkdir(parents=True)
        Path(folder, "limits.py").write_text("MANY = 1\n")
    Path("a/shared/tpc.py").write_text(Path("sub/other.py").read_text().replace("beside", "shared.limits"))
    Path("zabcheck.toml").write_text(MATRIX.replace('"tpc.py"', '"a/shared/tpc.py"'))
    committed("two of a name")
    Path("shared/limits.py").write_text("MANY = 2\n")
    assert names() == ["mine"]
    Path("a/shared/tpc.py").rename("a/tpc.py")
    Path("zabcheck.toml").write_text(MATRIX.replace('"tpc.py"', '"a/tpc.py"'))
    committed("its own")
    assert names() == []
    Path("a/shared/limits.py").write_text("MANY = 2\n")
    assert names() == ["mine"]


@pytest.mark.usefixtures("repository")
def test_a_check_that_is_not_what_it_was_is_run() -> None:
    path = Path("zabcheck.toml")
    path.write_text(MATRIX.replace('name = "zab"', 'name = "zab"\ntxns = 1'))
    assert names() == ["zab"]
    path.write_text(MATRIX.replace("nodes = 2", "nodes = 3"))
    assert names() == ALL, "defaults are of every check"
    path.write_text(
        MATRIX.replace('"holds", source = "x" }\n[[', '"violated", violated = { a = 1 }, source = "x" }\n[[', 1)
    )
    assert names() == ["mine"]
    git("rm", "-q", "--cached", "zabcheck.toml")
    git("-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", "not a file of checks")
    assert names() == ALL, "there was none"


def test_a_change_to_zabcheck_itself_touches_everything(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed, "package_folders", lambda: [repository / "zabspec"])
    Path("zabspec").mkdir()
    Path("zabspec/zab.py").write_text("")
    assert names() == ALL


def test_the_packages_are_where_they_are() -> None:
    assert all((folder / "__init__.py").is_file() for folder in changed.package_folders())


def test_what_was_not_run_is_said(repository: Path) -> None:
    result = CliRunner().invoke(main, ["check", "--changed-since", "HEAD"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("nothing was run: 3 checks skipped; zabcheck.toml")


def test_no_such_commit_and_no_repository_are_wrong_questions(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for revision in ("nowhere", "--all", ""):
        result = CliRunner().invoke(main, ["check", "--changed-since", revision])
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert "--changed-since needs git, which reports: " in result.stderr
    outside = tmp_path_factory.mktemp("outside")
    (outside / "zabcheck.toml").write_text(MATRIX)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(outside.parent))
    result = CliRunner().invoke(main, ["check", str(outside / "zabcheck.toml"), "--changed-since", "HEAD"])
    assert result.exit_code == 2
    assert "not a git repository" in result.stderr
    monkeypatch.setenv("PATH", "/nonexistent")
    result = CliRunner().invoke(main, ["check", "--changed-since", "HEAD"])
    assert result.exit_code == 2
    assert "git, which cannot be run" in result.stderr
