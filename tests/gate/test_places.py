"""Where an alert is put: at the rule that the variant or the change touches, named from git's top level."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checker.ci.changed import lines_that_differ
from checker.cli import main
from checker.commands.init import START
from checker.report.formats.sarif import sarif
from checker.report.result import ReportFinding, ReportPlace, Rule
from checker.report.sources import from_top, top_of
from tests.report.sarif_schema import validator

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


def checked(file: Path, *words: str) -> tuple[int, dict[str, Any], list[str]]:
    """The exit code, the SARIF run, and GitHub's annotations."""
    sarif_file = file.parent / "s.sarif"
    result = CliRunner().invoke(main, ["check", str(file), "--sarif", str(sarif_file), "--github", *words])
    assert result.exit_code in (0, 1), result.output
    document = json.loads(sarif_file.read_text())
    validator().validate(document)
    return result.exit_code, document["runs"][0], [x for x in result.stdout.splitlines() if x.startswith("::")]


def line_of(text: str) -> int:
    return next(k for k, line in enumerate(Path("tpc.py").read_text().splitlines(), 1) if text in line)


def test_an_alert_is_at_the_rule_that_the_variant_changes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever folder the command runs in."""
    git(here.parent, "init", "-q")
    file, expected = matrix(here), None
    for folder in (here, here.parent, here.parent.parent):
        monkeypatch.chdir(folder)
        code, run, lines = checked(file)
        (found,) = run["results"]
        assert code == 1
        (place,) = found["locations"]
        physical = place["physicalLocation"]
        assert physical["artifactLocation"] == {"uri": "deep%20er/tpc.py", "uriBaseId": "%SRCROOT%"}
        monkeypatch.chdir(here)
        name = place["logicalLocations"][0]["fullyQualifiedName"].split()[0]
        assert physical["region"]["startLine"] == line_of(f"def {name}")
        assert name in Path("tpc.py").read_text().partition("Variant(")[2], "the variant names it"
        assert lines[0].startswith(f"::error file=deep er/tpc.py,line={physical['region']['startLine']},")
        assert expected in (None, found)
        expected = found


def test_the_run_is_related_and_every_rule_has_help(here: Path) -> None:
    _, run, _ = checked(matrix(here))
    (found,) = run["results"]
    related = found["relatedLocations"]
    assert [r["id"] for r in related] == list(range(1, len(related) + 1))
    assert related[0]["physicalLocation"]["artifactLocation"]["uri"] == "zabcheck.toml"
    steps = [r["message"]["text"] for r in related[1:]]
    assert [s.split(".")[0] for s in steps] == [str(k) for k in range(1, len(steps) + 1)]
    flow = found["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"] for step in flow] == steps
    for rule in run["tool"]["driver"]["rules"]:
        assert len(rule["help"]["text"]) > 40
        assert rule["help"]["markdown"]


def test_outside_git_paths_are_from_the_files_own_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = matrix(here)
    monkeypatch.chdir("/")
    _, run, lines = checked(file)
    place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "tpc.py", "uriBaseId": "%SRCROOT%"}
    assert lines[0].startswith("::error file=tpc.py,line=")


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
    code, run, _ = checked(file, "--changed-since", "HEAD")
    assert code == 1, run
    place = run["results"][0]["locations"][0]
    assert place["logicalLocations"][0]["fullyQualifiedName"].startswith(f"{name} ")
    assert place["physicalLocation"]["region"]["startLine"] == line_of(f"def {name}(")
    _, run, _ = checked(file)
    other = run["results"][0]["locations"][0]
    assert other["logicalLocations"][0]["fullyQualifiedName"] != place["logicalLocations"][0]["fullyQualifiedName"]


def test_lines_that_differ() -> None:
    assert lines_that_differ([], ["a", "b"]) == {1, 2}
    assert lines_that_differ(["a", "b", "c"], ["a", "x", "c"]) == {2}
    assert lines_that_differ(["a", "b", "c"], ["a", "c"]) == {2}
    assert lines_that_differ(["a"], ["a"]) == set()


def test_the_top_of_the_sources(tmp_path: Path) -> None:
    inside = tmp_path / "repo" / "a" / "b"
    inside.mkdir(parents=True)
    assert top_of(inside / "x.py") == inside
    assert top_of(inside / "x.py", inside.parent / "c" / "y.py") == inside.parent
    (tmp_path / "repo" / ".git").write_text("gitdir: elsewhere\n")  # of a worktree it is a file
    assert top_of(inside / "x.py") == tmp_path / "repo"
    (tmp_path / "link").symlink_to(inside)
    assert top_of(tmp_path / "link" / "x.py") == tmp_path / "repo"
    assert str(from_top(tmp_path / "link" / "x.py", tmp_path / "repo")) == "a/b/x.py"
    assert from_top(tmp_path / "other.py", tmp_path / "repo") is None
    finding = ReportFinding("r", "error", "x", [ReportPlace(tmp_path / "link" / "x.py", 1)])
    document = json.loads(sarif([finding], [Rule("r", "s")], tmp_path / "repo", 1))
    place = document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place["uri"] == "a/b/x.py"
