"""Read the map of the pages, `docs/page-map.toml`, and the headings and prose of a page."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TOP = Path(__file__).parents[2]
DOCS = TOP / "docs"
RECORD = Path(__file__).with_name("headings.txt")
KINDS = ("index", "tutorial", "how-to", "reference", "explanation", "generated")
CONTRIBUTING = "CONTRIBUTING.md"
GENERATED = re.compile(r"^<!-- gallery: \w+ -->\n.*?^<!-- end -->", re.DOTALL | re.MULTILINE)
GENERATED_LINE = re.compile(r"^(?:\||- `zabcheck [^`]*`$).*", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """A target page: its path in `docs`, its kind, title, budget of words, and whether it is done."""

    path: str
    kind: str
    title: str
    words: int
    done: bool

    @property
    def file(self) -> Path:
        return DOCS / self.path


@dataclass(frozen=True)
class Place:
    """Where a heading went, and to which page.

    Attributes:
        how: `to`, `generated`, `dropped`, `decisions`, `results`, `contributing` or `stays`.
    """

    how: str
    page: str = ""
    anchor: str = ""


@cache
def page_map() -> tuple[dict[str, Page], dict[str, dict[str, str]]]:
    """Return the target pages by path, and for each old page the places of its headings."""
    read = tomllib.loads((DOCS / "page-map.toml").read_text(encoding="utf-8"))
    pages = [Page(**page) for page in read["page"]]
    return {page.path: page for page in pages}, read["moved"]


@cache
def recorded() -> tuple[tuple[str, str], ...]:
    """Return the headings of the pages as they were when the map began: (page, heading) each."""
    lines = RECORD.read_text(encoding="utf-8").splitlines()
    return tuple((page, heading) for page, _, heading in (line.partition("\t") for line in lines))


def place(text: str) -> Place:
    """Read a place as the map writes it.

    Raises:
        ValueError: it has none of the forms that the map's beginning lists.
    """
    if text in ("stays", CONTRIBUTING):
        return Place("stays")
    if text.startswith(f"{CONTRIBUTING}#"):
        return Place("contributing", CONTRIBUTING, text.partition("#")[2])
    for how, folder in (("decisions", "decisions/"), ("results", "benchmarks/results/")):
        if text.startswith(folder):
            return Place(how, text.removeprefix(folder))
    how, _, target = text.rpartition(" ")
    page, _, anchor = target.partition("#")
    if how not in ("", "generated", "dropped") or page not in page_map()[0]:
        raise ValueError(f"no place: {text!r}")
    return Place(how or "to", page, anchor)


def text_of(file: Path) -> str:
    """Return the Markdown of a page; of a notebook, its Markdown, and as examples the code that has output."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".ipynb":
        return text
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["outputs"]:  # tests/project/test_tutorial.py checks it
            parts.append(f"<!-- example: a cell -->\n```python\n{source}\n```")
    return "\n\n".join(parts)


def without_fences(text: str) -> str:
    """Return a page without its fenced blocks and comments; each line keeps its number."""
    text = re.sub(r"^( *)(```|~~~).*?^\1\2[^\n]*$", blank, text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"<!--.*?-->", blank, text, flags=re.DOTALL)


def blank(found: re.Match[str]) -> str:
    """Return as many empty lines as were found."""
    return "\n" * found[0].count("\n")


def headings(text: str) -> list[str]:
    """Return the headings of a page, with their marks."""
    return re.findall(r"^#{1,6} .*$", without_fences(text), flags=re.MULTILINE)


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading, as code hosts and the site make it."""
    words = re.sub(r"^#+ ", "", heading).strip().lower()
    words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", words).replace("`", "")
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


@cache
def anchors(file: Path) -> list[str]:
    """Return the anchors of a page: of its headings, a repeated one numbered, and those written as HTML."""
    text, seen = text_of(file), Counter[str]()
    names = list(map(anchor_of, headings(text)))
    for k, name in enumerate(names):
        seen[name] += 1
        names[k] = name if seen[name] == 1 else f"{name}-{seen[name] - 1}"
    return names + re.findall(r'<a (?:id|name)="([^"]+)"', text)


def without_generated(text: str) -> str:
    """Return a page without the rows and commands that `docs/gallery.py` writes between its marks."""
    return GENERATED.sub(lambda found: GENERATED_LINE.sub("", found[0]), text)


def words(text: str) -> int:
    """Count the words of a page's prose and own tables: without fenced blocks, and without what the gallery writes."""
    return len(re.findall(r"\w[\w'’.-]*", without_fences(without_generated(text))))
