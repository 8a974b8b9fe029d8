"""What a project has beside its code: licence, metadata, pages and their links, what is shipped with the package."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path, PurePosixPath

import pytest

import zabcheck
from tests.project.pages import anchors, without_fences
from zabspec import __version__

TOP = Path(__file__).parents[2]
DOCS = TOP / "docs"
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())
PAGES = sorted(
    {path for folder in (TOP, TOP / ".github", TOP / "benchmarks/results") for path in folder.glob("*.md")}
    | set(DOCS.rglob("*.md"))
)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
ANCHOR = re.compile(r"\[[^\]]*\]\(([^)#\s]*)#([^)\s]+)\)")


def links(page: Path) -> list[str]:
    """What a page links to, but for addresses."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    return [target for target in LINK.findall(text) if "://" not in target]


def test_the_metadata_say_who_and_name_no_address() -> None:
    project = PROJECT["project"]
    assert project["authors"] == [{"name": "zabcheck contributors"}]
    assert "urls" not in project
    assert not any(c.startswith("License ::") for c in project["classifiers"]), "the expression says it (PEP 639)"
    citation = (TOP / "CITATION.cff").read_text()
    assert version("zabcheck") == __version__ == zabcheck.__version__, "an installation says what its code says"
    assert f"\nversion: {__version__}\n" in citation
    assert "\nlicense: Apache-2.0\n" in citation
    assert f"\n## {__version__}\n" in (TOP / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(TOP).as_posix())
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    missing = [target for target in links(page) if not (page.parent / target).exists()]
    assert not missing
    for target, anchor in ANCHOR.findall(without_fences(page.read_text())):
        there = page.parent / target if target else page
        if there.suffix == ".md" and "://" not in target:
            assert anchor in anchors(there), f"{target}#{anchor}"


@pytest.mark.parametrize(
    ("pages", "most"),
    {
        "CHANGELOG.md": 800,
        "CONTRIBUTING.md": 1500,
        "docs/decisions/*.md": 12000,
        "docs/[!d]*/*.md": 51000,  # all other pages
        "docs/*.md": 1450,
        "benchmarks/results/*.md": 10300,
        "**/*.md": 75500,
    }.items(),
)
def test_what_grows_with_every_change_keeps_to_its_words(pages: str, most: int) -> None:
    """A figure is data, a decision is a screen, and what was changed is in the history of the repository."""
    named = subprocess.run(["git", "ls-files", "*.md"], cwd=TOP, capture_output=True, text=True, check=False).stdout
    kept = {TOP / name for name in named.split()}
    assert sum(len(page.read_text().split()) for page in TOP.glob(pages) if page in kept) <= most


@pytest.mark.parametrize("page", sorted(DOCS.glob("*/*.md")), ids=lambda page: page.name)
def test_every_page_names_its_reader_first(page: Path) -> None:
    if page.parent.name != "decisions":
        assert re.match(r"# .*\n\n(A report f|F)or ", page.read_text()), "begin with: For operators of ..."


def test_the_index_has_every_page_once() -> None:
    """In its lists; its doors name some of them again, and no other page."""
    pages = {path.relative_to(DOCS).as_posix() for suffix in ("md", "ipynb") for path in DOCS.rglob(f"*.{suffix}")}
    pages = {path for path in pages if "README" not in path and not path.startswith(("decisions/", "findings/"))}
    index = (DOCS / "README.md").read_text()
    listed = re.findall(r"^- \[[^]]+\]\(([^)]+)\)", index, flags=re.MULTILINE)
    assert sorted(listed) == sorted([*pages, "../CONTRIBUTING.md", "decisions/README.md"])
    assert {target.partition("#")[0] for target in links(DOCS / "README.md")} == set(listed)
    records = {path.name for path in (TOP / "docs/decisions").glob("0*.md")}
    assert {PurePosixPath(target).name for target in links(TOP / "docs/decisions/README.md")} == records


def test_pages_that_sources_name_are_there() -> None:
    folders = ("checker", "traces", "invariants", "zabspec", "zabcheck", "benchmarks", "examples")
    paths = (
        path for folder in folders for path in (TOP / folder).rglob("*") if path.suffix in (".py", ".toml", ".json")
    )
    named = {page for path in paths for page in re.findall(r"\bdocs/[\w/-]+\.(?:md|ipynb)", path.read_text())}
    assert len(named) > 20
    assert {page for page in named if not (TOP / page).exists()} == set()


def test_what_is_no_python_is_shipped_with_the_package() -> None:
    tools = PROJECT["tool"]["setuptools"]
    found = tools["packages"]["find"]["include"]
    packages = {path.parent.name for path in TOP.glob("*/__init__.py")} - {"tests", "benchmarks"}
    assert {name + "*" for name in packages} == set(found)
    given = {
        path
        for package, patterns in tools["package-data"].items()
        for pattern in patterns
        for path in (TOP / package.replace(".", "/")).glob(pattern)
        if path.suffix != ".py"
    }
    lie = {
        path
        for package in packages
        for path in (TOP / package).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert given == lie
    assert all((TOP / package / "py.typed").is_file() for package in packages)


def test_the_pages_are_shipped() -> None:
    shipped = {
        path: folder
        for folder, patterns in PROJECT["tool"]["setuptools"]["data-files"].items()
        for pattern in patterns
        for path in TOP.glob(pattern)
    }
    assert {path for path in PAGES if "docs" in path.parts} <= set(shipped)
    for path, folder in shipped.items():
        if "docs" in path.parts:  # pages that lie side by side here do so there
            assert path.parent.relative_to(TOP / "docs") == PurePosixPath(folder).relative_to("share/doc/zabcheck")


# What takes long to import, and what only other questions need.
HEAVY = (
    "html", "jinja2", "matplotlib", "multiprocessing", "networkx", "numpy", "pandas", "pyarrow",
    "pyspark", "resvg_py", "rich", "z3", "checker.tables.distributed", "checker.proofs.prove",
    "checker.proofs.symbolic", "traces.record", "traces.explain.text", "traces.pictures",
)  # fmt: skip


EXPLORES = (
    "import sys\n"
    "from checker.cli import main\n"
    "try:\n"
    "    main(['--nodes', '2', '--depth', '2', '--no-trace'])\n"
    "except SystemExit as end:\n"
    "    assert end.code == 3, end.code  # at depth 2 nothing is put to the test\n"
)


@pytest.mark.slow(seconds=1)
def test_a_plain_exploration_imports_nothing_that_it_does_not_need() -> None:
    """It starts in a quarter of a second: `python -X importtime` says what takes how long."""
    program = EXPLORES + "print(*sys.modules, sep='\\n', file=sys.stderr)\n"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=TOP)
    there = done.stderr.split()
    assert "checker.explore.compiled" in there
    assert not set(HEAVY) & set(there)
