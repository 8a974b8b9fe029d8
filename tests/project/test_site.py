"""The site of the pages: what is staged, where its links lead, and what it may fetch. `.ci/run` builds it."""

from __future__ import annotations

import importlib.util
import posixpath
import re
from pathlib import Path

import click
import pytest

import zabcheck
from checker.ci.shipped import gallery
from checker.cli import main

TOP = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("build_site", TOP / "docs/build_site.py")
assert SPEC is not None
assert SPEC.loader is not None
site = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(site)


def test_every_page_is_staged_and_in_the_contents_once() -> None:
    files = site.staged_files()
    for path in (TOP / "docs").rglob("*.md"):
        assert path.relative_to(TOP).as_posix() in files
    listed = re.findall(r"^[\w./-]+$", site.contents(files.values()), flags=re.MULTILINE)
    pages = {file.removesuffix(".md") for file in files.values() if file.endswith(".md")}
    assert sorted(listed) == sorted(pages - {"index"})
    assert "decisions/index" in pages


FILES = {
    "docs/README.md": "index.md", "docs/how-to/ci.md": "how-to/ci.md", "docs/one.md": "one.md",
    "CONTRIBUTING.md": "project/CONTRIBUTING.md", "README.md": "index.md",
}  # fmt: skip


@pytest.mark.parametrize(
    ("page", "link", "there"),
    [
        ("docs/how-to/ci.md", "[a](../one.md#what-starts)", "[a](../one.md#what-starts)"),
        ("docs/one.md", "[a `b` c](../CONTRIBUTING.md)", "[a `b` c](project/CONTRIBUTING.md)"),
        ("CONTRIBUTING.md", "[a](docs/one.md) [b](docs/README.md)", "[a](../one.md) [b](../index.md)"),
        ("docs/one.md", "[home](../README.md#run-it)", "[home](index.md)"),
        ("docs/one.md", "[`code`](../checker/cli.py)", "`code`"),
        ("docs/one.md", "[a](none.md) [b](https://a.b/c.md) [c](#d)", "[a](none.md) [b](https://a.b/c.md) [c](#d)"),
        ("docs/how-to/ci.md", "```\n[a](../../checker/cli.py)\n```", "```\n[a](../../checker/cli.py)\n```"),
    ],
)
def test_links_lead_from_stage_to_stage(page: str, link: str, there: str) -> None:
    assert site.relinked(link, page, FILES) == there + "\n"


def test_links_of_every_page_that_leave_the_stage_are_words() -> None:
    files = site.staged_files()
    for source, target in files.items():
        if target.endswith(".md") and source != "README.md":
            text = site.relinked(site.page_text(TOP / source), source, files)
            text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
            for link in re.findall(r"\]\(([^)#\s]+\.(?:md|py|json))", text):
                if "://" not in link:
                    assert posixpath.normpath(posixpath.join(posixpath.dirname(target), link)) in files.values(), source


def test_every_command_and_every_public_name_has_a_page() -> None:
    pages = site.built_pages()
    commands = main.list_commands(click.Context(main))
    assert {"audit", "check", "prove", "sweep"} <= {*commands}
    for command in commands:
        assert f":prog: zabcheck {command}" in pages[f"reference/command-line/{command}.md"]
        assert site.__getattr__(command.replace("-", "_")).name == command
    for name in zabcheck.__all__:
        assert f":: zabcheck.{name}\n" in pages[f"reference/zabcheck/{name}.md"]
    assert {"reference/zabcheck.language/send.md", "reference/zabcheck.tables.spark/judge.md"} <= pages.keys()


def test_a_function_of_the_api_is_documented_with_the_sentences_of_its_options() -> None:
    lines: list[str] = ["Replay `traces`."]
    site.completed(None, "function", "", zabcheck.realise, None, lines)
    assert lines[0] == "Replay ``traces``."
    assert "    attempts: Largest number of runs to try." in lines


def test_the_gallery_links_its_runs() -> None:
    page = "".join(
        f"| `zabcheck gallery {name}` | A claim. | holds |\n" for name in ("no-sync", "no-sync-and-on", "zab")
    )
    shown = site.with_runs(page, ["no-sync-agreement", "no-sync-and-on-prefix", "gallery"]).splitlines()
    assert shown[0].startswith(
        '| `zabcheck gallery no-sync` <a href="../live/no-sync-agreement.html">agreement</a> | A'
    )
    assert '<a href="../live/no-sync-and-on-prefix.html">prefix</a>' in shown[1]
    assert shown[2] == "| `zabcheck gallery zab` | A claim. | holds |"


def test_entries_of_the_quick_gallery_exist() -> None:
    quick = site.entries("quick")
    assert len(quick) > 20
    assert set(quick) <= {check.name for check in gallery().matrix.checks}
    assert (site.entries("none"), site.entries("all"), site.entries("a,b")) == ([], [""], ["a", "b"])


@pytest.mark.parametrize(
    ("name", "text", "url"),
    [
        ("a.html", '<script src="https://a.b/c.js"></script>', "https://a.b/c.js"),
        ("a.html", '<link rel="stylesheet" href="//a.b/c.css">', "//a.b/c.css"),
        ("a.html", "<style>body { background: url('http://a.b/c.png') }</style>", "http://a.b/c.png"),
        ("a.css", '@import "https://a.b/font.css";', "https://a.b/font.css"),
        ("a.html", '<img srcset="x.png 1x, https://a.b/y.png 2x">', "https://a.b/y.png"),
        ("a.html", '<a href="https://a.b">a link is not fetched</a><script src="own.js"></script>', ""),
    ],
)
def test_what_a_site_fetches_from_other_hosts_is_found(name: str, text: str, url: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert list(site.fetched(tmp_path)) == ([(name, url)] if url else [])


def test_a_folder_that_is_no_site_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    assert site.build(tmp_path, "none") == 1
    assert "is no site" in capsys.readouterr().err
    assert (tmp_path / "mine.txt").read_text() == "keep"
