"""Examples by their short names, wherever a reader stands, in the sources and in an installed copy."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from tests.project.pages import PAGES, TOP, text_of
from zabspec import files
from zabspec.authoring.sources import EXAMPLE, examples
from zabspec.model import Configuration, Model

NAMES = sorted(path.stem for path in (TOP / "examples").glob("*.py"))


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_examples_are_those_of_the_sources() -> None:
    assert list(examples()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_found_from_anywhere_and_copied(name: str, elsewhere: Path) -> None:
    done = run("init", "mine.py", "--from", name)
    assert done.exit_code == 0, done.output
    text = Path("mine.py").read_text()
    assert EXAMPLE not in text, "its commands are about the copy"
    assert "zabcheck --protocol mine.py" in text
    example, copy = (Model(Configuration(source)).protocol for source in (f"{EXAMPLE}{name}", "mine.py"))
    assert list(example.variants) == list(copy.variants)
    assert [p.name for p in example.claims] == [p.name for p in copy.claims]
    assert {p.source for p in example.claims} <= {f"{name}.py"}


def test_an_installed_copy_has_them(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "__file__", str(elsewhere / "site-packages/zabspec/files.py"))
    monkeypatch.setattr(files.sysconfig, "get_path", lambda _: str(elsewhere))
    monkeypatch.setattr(files.site, "getuserbase", lambda: str(elsewhere / "user"))
    none = run("--protocol", "example:token_ring")
    assert (none.exit_code, none.stderr) == (
        2, "zabcheck: there is no example 'token_ring'; there are none installed\n"
    )  # fmt: skip
    shutil.copytree(TOP / "examples", elsewhere / "share/doc/zabcheck/examples")
    assert list(examples()) == NAMES
    assert run("--protocol", "example:token_ring", "--engine", "interpret").exit_code == 0


@pytest.mark.slow(seconds=2)
def test_what_is_saved_of_an_example_can_be_read_anywhere(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run("--protocol", "example:token_ring", "--variant", "hasty", "--trace", "run.trace.json")
    assert found.exit_code == 1
    assert str(TOP) not in found.stdout
    Path("further").mkdir()
    monkeypatch.chdir("further")
    assert run("replay", "../run.trace.json").exit_code == 0
    for words in (("--witness", "one-token"), ("--mutate", "2"), ("--search",)):
        unsaved = () if "--mutate" in words else ("--no-trace",)
        limit = "0.3" if "random" in words else "9"
        done = run("--protocol", "example:token_ring", "--time-limit", limit, *unsaved, *words)
        assert done.exit_code in (0, 3), (words, done.output)


@pytest.mark.parametrize("name", ["paxo", "", "../paxos", "paxos.py", "/etc/passwd"])
def test_no_other_name_is_an_example(name: str, elsewhere: Path) -> None:
    for words in (("--protocol", f"{EXAMPLE}{name}"), ("init", "mine.py", "--from", name)):
        done = run(*words)
        assert done.exit_code == 2, done.output
        assert done.stderr.startswith("zabcheck: there is no example")
        assert done.stderr.count("\n") == 1
    assert not Path("mine.py").exists()


def test_pages_name_examples_as_every_copy_finds_them() -> None:
    for page in (TOP / "README.md", *PAGES, TOP / "CONTRIBUTING.md"):
        text = text_of(page)
        assert not re.findall(r"--protocol examples/\S+", text), page
        assert set(re.findall(rf"{EXAMPLE}(\w+)", text)) <= set(NAMES), page
    for name in NAMES:
        assert set(re.findall(r"--protocol (\S+)", (TOP / f"examples/{name}.py").read_text())) == {f"{EXAMPLE}{name}"}
