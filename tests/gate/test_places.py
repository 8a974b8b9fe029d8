"""Where an alert is put: at the rule that the variant or the change touches, named from git's top level."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.ci.changed import lines_that_differ
from checker.cli import main
from checker.commands.init import START
from checker.report.sources import from_top, top_of

CHECK = """
[[check]]
name = "mine"
protocol = "{protocol}"
nodes = 2
crashes = 0
{more}
expect = {{ verdict = "holds", source = "here" }}
"""
CHANGE = ("enough", "return len(s.agreed[p]) == s.NODES", "return len(s.agreed[p]) >= s.NODES - 1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "top" / "deep er"
    folder.mkdir(parents=True)
    (folder / "tpc.py").write_text(START.read_text())
    monkeypatch.chdir(folder)
    return folder


def git(folder: Path, *words: str) -> None:
    whole = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=e@x", *words]
    subprocess.run(whole, check=True, capture_output=True)


def matrix(folder: Path, more: str = 'variant = "hasty"', protocol: str = "tpc.py") -> Path:
    path = folder / "zabcheck.toml"
    path.write_text(CHECK.format(more=more, protocol=protocol))
    return path


def checked(file: Path, *words: str) -> tuple[int, list[str]]:
    """The exit code, and GitHub's annotations."""
    result = CliRunner().invoke(main, ["check", str(file), "--github", *words])
    assert result.exit_code in (0, 1), result.output
    return result.exit_code, [x for x in result.stdout.splitlines() if x.startswith("::")]


def line_of(text: str) -> int:
    return next(k for k, line in enumerate(Path("tpc.py").read_text().splitlines(), 1) if text in line)


def test_an_alert_is_at_the_rule_that_the_variant_changes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever folder the command runs in."""
    git(here.parent, "init", "-q")
    file, line = matrix(here), line_of("def all_but_one(")
    assert "all_but_one" in Path("tpc.py").read_text().partition("Variant(")[2], "the variant names it"
    for folder in (here, here.parent, here.parent.parent):
        monkeypatch.chdir(folder)
        code, (said,) = checked(file)
        assert code == 1
        assert said.startswith(f"::error file=deep er/tpc.py,line={line},title=mine%3A violated::agreement is violated")


def test_what_is_no_violation_is_at_the_check(here: Path) -> None:
    """An expected violation that vanished, and a check without a verdict."""
    git(here.parent, "init", "-q")
    file = matrix(here, "")
    file.write_text(file.read_text().replace('verdict = "holds"', 'verdict = "violated", violated = { agreement = 5 }'))
    code, (said,) = checked(file)
    line = next(k for k, text in enumerate(file.read_text().splitlines(), 1) if text.startswith("name"))
    assert code == 1
    assert said.startswith(f"::error file=deep er/zabcheck.toml,line={line},title=mine%3A vanished::")
    result = CliRunner().invoke(main, ["check", str(matrix(here, "max_states = 5")), "--github"])
    assert result.exit_code == 3
    assert f"::warning file=deep er/zabcheck.toml,line={line},title=mine%3A no verdict::" in result.stdout


def test_outside_git_paths_are_from_the_files_own_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = matrix(here)
    monkeypatch.chdir("/")
    assert checked(file)[1][0].startswith("::error file=tpc.py,line=")


def test_an_alert_is_at_the_function_that_the_change_touches(here: Path) -> None:
    """And where no change of a function is known, at the handler of the last step."""
    text = START.read_text()
    git(here.parent, "init", "-q")
    git(here.parent, "add", "-A")
    git(here.parent, "commit", "-q", "-m", "first")
    name, old, new = CHANGE
    assert text.count(old) == 1
    Path("tpc.py").write_text(text.replace(old, new))
    file = matrix(here, "")
    code, (said,) = checked(file, "--changed-since", "HEAD")
    assert code == 1, said
    assert said.startswith(f"::error file=deep er/tpc.py,line={line_of(f'def {name}(')},")
    _, (said,) = checked(file)
    assert said.startswith(f"::error file=deep er/tpc.py,line={line_of('def refuse(')},")


def test_lines_that_differ() -> None:
    assert lines_that_differ([], ["a", "b"]) == {1, 2}
    assert lines_that_differ(["a", "b", "c"], ["a", "x", "c"]) == {2}
    assert lines_that_differ(["a", "b", "c"], ["a", "c"]) == {2}
    assert lines_that_differ(["a"], ["a"]) == set()


def test_the_top_of_the_sources(tmp_path: Path) -> None:
    inside = tmp_path / "repo" / "a" / "b"
    inside.mkdir(parents=True)
    assert top_of(inside / "x.py") == inside
    (tmp_path / "repo" / ".git").write_text("gitdir: elsewhere\n")  # of a worktree it is a file
    assert top_of(inside / "x.py") == tmp_path / "repo"
    (tmp_path / "link").symlink_to(inside)
    assert top_of(tmp_path / "link" / "x.py") == tmp_path / "repo"
    assert str(from_top(tmp_path / "link" / "x.py", tmp_path / "repo")) == "a/b/x.py"
    assert from_top(tmp_path / "other.py", tmp_path / "repo") is None
