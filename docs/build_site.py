"""Build the site of the pages: searchable offline, light and dark, with nothing that is fetched from another host.

    python docs/build_site.py OUTPUT [--gallery NAMES]

Needs the extra `docs` (`pip install '.[docs]'`). The pages stay Markdown that a code host shows as well; this script
stages them for Sphinx. The stage has the files of the project that pages link to, its links lead from stage to stage,
and its index has the kinds of pages as contents. A link that leads nowhere ends the build, to a page or to a heading.

`--gallery` names entries of the gallery, separated by commas, whose runs become live pages. `quick`: those that take
half a second at most (the default, about a minute in all); `all`: every entry under a minute; `none`.

Why Sphinx, and not a younger generator: docs/decisions/0027-a-site-by-sphinx.md.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import click

from checker.cli import main
from checker.manual import KINDS, LATER, ManualPage
from checker.requests.base.request import Request, fields_of

TOP = Path(__file__).parents[1]
DOCS = TOP / "docs"
LIVE = "live"  # the folder of the runs to walk through
QUICK = 0.5  # seconds of CPU of an entry
# The staged files of the project, and where; a file that is not Markdown is shown as a page that quotes it.
STAGED = {
    "docs/**/*.md": "", "docs/**/*.svg": "", "docs/**/*.ipynb": "", "benchmarks/results/*.md": "results",
    "CONTRIBUTING.md": "project", "CHANGELOG.md": "project", "SECURITY.md": "project", "examples/*.py": "examples",
}  # fmt: skip
CAPTIONS = KINDS | {"results": "Measured", "project": "The project", "examples": "Examples"}
LINK = re.compile(r"(!?)\[((?:[^][`]|`[^`]*`|\[[^]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r" *(```|~~~)")
# How the site's search counts what a reader seldom looks for: a word in the title of a record counts less than a word
# in the text of a page.
SCORER = """var Scorer = {{
  score: ([page, title, anchor, descr, score]) => score * ({later}.some((start) => page.startsWith(start)) ? 0.3 : 1),
  objNameMatch: 11, objPartialMatch: 6, objPrio: {{0: 15, 1: 5, 2: -5}}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
}};
"""
SETTINGS = {
    "project": "zabcheck", "html_title": "zabcheck", "copyright": "", "html_theme": "furo", "autodoc_typehints": "none",
    "extensions": "myst_parser,sphinx.ext.autodoc,sphinx.ext.napoleon,sphinx_click,build_site",
    "autodoc_preserve_defaults": 1, "napoleon_use_ivar": 1, "add_module_names": 0,
    "myst_heading_anchors": 6, "smartquotes": 0, "html_copy_source": 0, "html_show_sourcelink": 0,
    "html_show_copyright": 0, "html_last_updated_fmt": "",
    # languages that the highlighter does not know (TLA+, Mermaid) are shown plain
    "suppress_warnings": "misc.highlighting_failure",
}  # fmt: skip


# The pages of reference that have no file: by path, each command and each public name of these modules.
COMMANDS = "reference/command-line"
MODULES = ("zabcheck", "zabcheck.language", "zabcheck.tables.spark")
ALONE = "---\norphan: true\n---\n\n"  # of a page: it is not among the contents
OURS = {"zabcheck", "zabspec", "checker", "traces", "invariants"}


def built_pages() -> dict[str, str]:
    """Return the pages that are generated with the site: what sphinx-click and autodoc say of commands and names."""
    commands = ["zabcheck", *main.list_commands(click.Context(main))]
    pages = {f"{COMMANDS}.md": listing("Every command", "look up each command and option", COMMANDS, commands)}
    for name in commands:
        words = "zabcheck" if name == "zabcheck" else f"zabcheck {name}"
        directive = f".. click:: build_site:{name.replace('-', '_')}\n   :prog: {words}\n   :nested: none\n"
        pages[f"{COMMANDS}/{name}.md"] = f"{ALONE}```{{eval-rst}}\n{directive}```\n"
    for module in MODULES:
        names = public_names(module)
        folder = f"reference/{module}"
        pages[f"{folder}.md"] = listing(module, f"look up each public name of `{module}`", folder, names)
        for name in names:
            value = getattr(importlib.import_module(module), name)
            kind = "class" if inspect.isclass(value) else "function" if inspect.isroutine(value) else "data"
            directive = f".. auto{kind}:: {module}.{name}\n" + ("   :members:\n" if kind == "class" else "")
            pages[f"{folder}/{name}.md"] = f"{ALONE}# {name}\n\n```{{eval-rst}}\n{directive}```\n"
    return pages


def public_names(module: str) -> list[str]:
    """Return the public names of a module that are this project's own."""
    found = importlib.import_module(module)
    names = getattr(found, "__all__", None) or [name for name in dir(found) if not name.startswith("_")]
    owner = {name: getattr(getattr(found, name), "__module__", None) or "" for name in names}
    return sorted(name for name in names if owner[name].partition(".")[0] in OURS)


def listing(title: str, purpose: str, folder: str, names: Iterable[str]) -> str:
    """Return the page that lists the pages of a folder, which are not among the contents beside every page."""
    inside = "\n".join(f"- [{name}]({posixpath.basename(folder)}/{name}.md)" for name in names)
    return f"# {title}\n\nAfter these pages you can {purpose}.\n\n{inside}\n"


def __getattr__(name: str) -> Any:
    """Return a command, which `sphinx-click` asks this module for."""
    command = main if name == "zabcheck" else main.get_command(click.Context(main), name.replace("_", "-"))
    if command is None:
        raise AttributeError(name)
    return command


def setup(app: Any) -> dict[str, bool]:
    """Make this module an extension of Sphinx, which completes what autodoc finds."""
    app.connect("autodoc-process-docstring", completed, priority=1)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def completed(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Add to a function of the API its keywords, as the request declares them; marks of Markdown become code."""
    kind = getattr(value, "__wrapped__", None)
    if "Examples:" in lines:
        lines[lines.index("Examples:") :] = ["Examples::", "", *lines[lines.index("Examples:") + 1 :]]
    if inspect.isclass(kind) and issubclass(kind, Request):
        said = [f"    {f.name}: {f.option.help}" for f in fields_of(kind).values() if f.option and f.option.help]
        lines += ["", "Args:", *said] if said else []
    lines[:] = [re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line).replace("*", r"\*") for line in lines]


def staged_files() -> dict[str, str]:
    """Return the staged files: from the path in the project to the path on the stage."""
    found = {}
    for pattern, folder in STAGED.items():
        for path in sorted(TOP.glob(pattern)):
            inner = path.relative_to(DOCS).as_posix() if DOCS in path.parents else f"{folder}/{path.name}"
            inner = re.sub(r"README\.md$", "index.md", inner)
            found[path.relative_to(TOP).as_posix()] = re.sub(r"\.(ipynb|py)$", ".md", inner)
    found["README.md"] = "index.md"  # the project's first page has the links of the site's
    return found


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    """Return a text with each line outside fences changed."""
    lines, fence = [], ""
    for line in text.splitlines():
        mark = FENCE.match(line)
        lines.append(line if fence or mark else change(line))
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
    return "\n".join(lines) + "\n"


def relinked(text: str, page: str, files: Mapping[str, str]) -> str:
    """Return the text of a page with links that hold on the stage.

    A link to a file of the project that is not staged becomes its words; one that leads nowhere stays, for Sphinx to
    report it.

    Args:
        text: Markdown.
        page: its path in the project.
        files: what is staged, as `staged_files` returns it.
    """

    def link(found: re.Match[str]) -> str:
        image, words, target = found.groups()
        path, mark, anchor = target.partition("#")
        if "://" in target or not path:
            return found[0]
        there = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        if there in files:
            here = posixpath.dirname(files[page])
            anchor = "" if files[there] == "index.md" and there == "README.md" else mark + anchor
            return f"{image}[{words}]({posixpath.relpath(files[there], here or '.')}{anchor})"
        return words if (TOP / there).exists() else found[0]

    return outside_fences(text, lambda line: LINK.sub(link, line))


def page_text(path: Path) -> str:
    """Return a file of the project as Markdown: a notebook's cells, a source as a fence."""
    if path.suffix == ".py":
        return f"# {path.name}\n\n```python\n{path.read_text(encoding='utf-8')}```\n"
    return ManualPage(path.stem, path).text


def with_runs(text: str, runs: Iterable[str]) -> str:
    """Return the gallery's page with links beside each entry to its runs, which are in the folder of live pages."""
    entry = re.compile(r"`zabcheck gallery (\S+)` \|")
    of_entry: dict[str, list[str]] = {}
    names = set(entry.findall(text))
    for run in sorted(runs):
        owners = [name for name in names if run.startswith(f"{name}-")]
        if owners:
            of_entry.setdefault(max(owners, key=len), []).append(run)

    def links(found: re.Match[str]) -> str:
        name = found[1]
        shown = (f'<a href="../{LIVE}/{run}.html">{run.removeprefix(name + "-")}</a>' for run in of_entry.get(name, ()))
        return " ".join([found[0].removesuffix(" |"), *shown, "|"])

    return entry.sub(links, text)


def contents(files: Iterable[str]) -> str:
    """Return the contents of the site, for the end of its index: by kind, in the order of the list of pages."""
    order = re.findall(r"^- \[[^]]+\]\(([^)]+)\)", (DOCS / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    rank = {re.sub(r"\.\w+$", "", path): k for k, path in enumerate(order)}
    pages = {re.sub(r"\.md$", "", file) for file in files if file.endswith(".md")} - {"index"}
    parts = []
    for folder, caption in CAPTIONS.items():
        inside = [page for page in pages if posixpath.dirname(page) == folder]
        inside.sort(key=lambda page: (not page.endswith("/index"), rank.get(page, len(rank)), page))
        if inside:
            parts.append("\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *inside, "```"]))
    return "\n" + "\n\n".join(parts) + "\n"


def stage(folder: Path, runs: Iterable[str] = ()) -> None:
    """Write the pages into a folder, as Sphinx takes them."""
    files, built = staged_files(), built_pages()
    for source, target in files.items():
        path = folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        if source == "README.md":
            continue
        if path.suffix != ".md":
            shutil.copyfile(TOP / source, path)
            continue
        text = relinked(page_text(TOP / source), source, files)
        if target == "index.md":
            text += contents([*files.values(), *(page for page in built if page.count("/") == 1)])
        path.write_text(with_runs(text, runs) if path.stem == "gallery" else text, encoding="utf-8")
    for target, text in built.items():
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        (folder / target).write_text(text, encoding="utf-8")


def entries(names: str) -> list[str]:
    """Return the arguments of `zabcheck gallery` for the value of `--gallery`; empty to run nothing."""
    if names in ("none", "all"):
        return [] if names == "none" else [""]
    if names != "quick":
        return names.split(",")
    measured = json.loads((TOP / "checker/ci/gallery/measured.json").read_text(encoding="utf-8"))
    return sorted(name for name, seconds in measured.items() if seconds <= QUICK)


def live_pages(folder: Path, names: str) -> None:
    """Write the pages of the gallery's runs into a folder.

    Raises:
        CalledProcessError: an entry differs from what it expects.
    """
    folder.mkdir(parents=True)
    if chosen := entries(names):
        command = [sys.executable, "-m", "zabcheck", "gallery", *filter(None, chosen), "--html", str(folder)]
        subprocess.run(command, check=True, cwd=TOP, stdout=subprocess.DEVNULL)


class Fetched(HTMLParser):
    """Collect what a page makes a browser fetch from another host."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        kinds = (given.get("rel") or "").split()
        loads = tag == "link" and not {"canonical", "author", "license"} & set(kinds)
        for name, value in given.items():
            if name in ("src", "srcset", "poster", "data") or (loads and name == "href"):
                self.urls += re.findall(r"(?:https?:)?//[^\s,]+", value or "")


def fetched(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield what the files of a site fetch from other hosts: the file, and the address."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".html":
            page = Fetched()
            text = path.read_text(encoding="utf-8")
            page.feed(text)
            styles = " ".join(re.findall(r"<style[^>]*>(.*?)</style>", text, flags=re.DOTALL))
            yield from ((name, url) for url in (*page.urls, *imported(styles)))
        elif path.suffix == ".css":
            yield from ((name, url) for url in imported(path.read_text(encoding="utf-8")))


def imported(style: str) -> list[str]:
    """Return what a style sheet fetches from other hosts."""
    return re.findall(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""", style)


def scorer() -> str:
    """Return what the site's search counts of a result."""
    return SCORER.format(later=json.dumps([*LATER, *(f"{name}/" for name in ("results", "project", "examples"))]))


def build(output: Path, names: str) -> int:
    """Build the site into a folder, and return the exit code. A site that is there already is replaced."""
    if output.exists() and any(output.iterdir()) and not (output / "searchindex.js").exists():
        print(f"{output} has files, and is no site", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        source, runs, made = (Path(scratch) / name for name in ("source", "runs", "site"))
        live_pages(runs, names)
        stage(source, [path.stem for path in runs.glob("*.html")])
        scoring = Path(scratch) / "scorer.js"
        scoring.write_text(scorer(), encoding="utf-8")
        values = SETTINGS | {"html_search_scorer": scoring}
        settings = [word for name, value in values.items() for word in ("-D", f"{name}={value}")]
        command = [
            "sphinx",
            "-q",
            "-W",
            "--keep-going",
            "-C",
            "-b",
            "html",
            "-j",
            "2",
            "-d",
            f"{scratch}/doctrees",
            *settings,
        ]
        here = os.environ | {"PYTHONPATH": os.pathsep.join([str(TOP), str(DOCS)])}
        done = subprocess.run([sys.executable, "-m", *command, str(source), str(made)], check=False, env=here)
        if done.returncode:
            return 1
        shutil.copytree(runs, made / LIVE)
        (made / ".buildinfo").unlink(missing_ok=True)
        if foreign := list(fetched(made)):
            print(*(f"{name} fetches {url}" for name, url in foreign), sep="\n", file=sys.stderr)
            return 1
        if output.exists():
            shutil.rmtree(output)
        shutil.copytree(made, output)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the site of the pages.")
    parser.add_argument("output", type=Path)
    parser.add_argument("--gallery", default="quick", metavar="NAMES")
    given = parser.parse_args()
    sys.exit(build(given.output, given.gallery))
