"""Find, read and search the pages of the documentation, in the source tree or where the installation put them."""

from __future__ import annotations

import json
import math
import re
import site
import sysconfig
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from checker.errors import RequestError
from checker.page_tables import with_tables

# The folders of pages, in the order in which they are listed, each with its heading.
KINDS = {
    "tutorials": "Tutorials", "how-to": "How to", "reference": "Reference", "explanation": "Explanation",
    "": "Other pages", "findings": "Findings in ZooKeeper", "decisions": "Decision records",
}  # fmt: skip
INDEX = "README"
# What comes later in a search, by how a topic begins: records of reasons, reports, entries, what other pages say.
LATER = ("decisions/", "findings/", "reference/gallery", "on-the-index")
FENCE = re.compile(r" *(```|~~~)")
HEADING = re.compile(r"(#{1,6}) (.+)")
COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
MARKUP = re.compile(r"[`*]|\[([^]]*)\]\([^)]*\)|^[|>#\s-]+")
PROSE = re.compile(r" *[\w`*\[(-]")
ITEM = re.compile(r"^ *(?:[-*]|\d+\.) ")
SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z`*\[(])")
LONGEST = 200  # letters of a beginning
WORD = re.compile(r"[^\W_]+")
ENDING = re.compile(r"(ing|ed|es|s|e)$")
SHORT = 4  # letters: words up to this length are searched for unchanged
COMMON = frozenset(
    WORD.findall(
        "a an and are as at be by can do does for from has have how i if in is it my of on or should that the then "
        "this to was what when where which who why will with you your"
    )
)


@dataclass(frozen=True)
class Section:
    """A part of a page, from a heading to the next.

    Attributes:
        page: the topic of its page.
        heading: without marks; the topic for text before any heading.
        level: of the heading, from 1.
        text: Markdown, heading included.
    """

    page: str
    heading: str
    level: int
    text: str

    @property
    def anchor(self) -> str:
        """The section's name in links."""
        return re.sub(r"[^\w\- ]", "", self.heading.lower()).replace(" ", "-")

    @property
    def topic(self) -> str:
        """The argument of `zabcheck docs` that shows it."""
        return f"{self.page}#{self.anchor}" if self.level > 1 else self.page

    @cached_property
    def words(self) -> str:
        """Its words in lower case, each after a space."""
        return spaced(self.text)

    @cached_property
    def terms(self) -> dict[str, str]:
        """The explanations in its tables: the second cell of a row by the first, in lower case; a head is no row."""
        rows = re.findall(r"^\| *[`*]*([^|`*]+?)[`*]* *\|([^|]+).*$(?!\n\|[ :-]+\|)", self.text, flags=re.MULTILINE)
        return {first.lower(): MARKUP.sub(lambda found: found[1] or "", second).strip() for first, second in rows}

    def excerpt(self, words: Sequence[str]) -> str:
        """Return the excerpt that a search shows: the table row that explains a word, or the section's beginning."""
        explained = (f"{word}: {self.terms[word]}" for word in words if word in self.terms)
        return next(explained, self.beginning or self.heading)

    @property
    def beginning(self) -> str:
        """The first sentence of its prose, without what is in fences and tables; shortened if it is long."""
        lines: list[str] = []
        fence = ""
        for line in self.text.splitlines()[1:]:
            mark = FENCE.match(line)
            if mark and fence in ("", mark[1]):
                fence = "" if fence else mark[1]
            if fence or mark or not PROSE.match(line) or (lines and ITEM.match(line)):
                if lines:
                    break
                continue
            lines.append(ITEM.sub("", line))
        first = SENTENCE.split(MARKUP.sub(lambda found: found[1] or "", " ".join(lines)), maxsplit=1)[0]
        return textwrap.shorten(first, LONGEST, placeholder=" ...")


@dataclass(frozen=True)
class ManualPage:
    """A page of the documentation.

    Attributes:
        topic: its path below the folder of pages, without the suffix.
        path: its file: Markdown, or a notebook.
    """

    topic: str
    path: Path

    @property
    def kind(self) -> str:
        """The folder that contains it: a key of KINDS."""
        return self.topic.rpartition("/")[0]

    @cached_property
    def text(self) -> str:
        """The page as Markdown, with its tables and without comments; a notebook's code in fences."""
        text = self.path.read_text(encoding="utf-8")
        if self.path.suffix == ".ipynb":
            cells = ((cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"])
            text = "\n\n".join(source if kind == "markdown" else f"```python\n{source}\n```" for kind, source in cells)
        return COMMENT.sub("", with_tables(text, self.path.parent))

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The page cut before each heading; a mark inside a fence is not a heading."""
        parts: list[tuple[str, int, list[str]]] = []
        fence = ""
        for line in self.text.splitlines():
            mark = FENCE.match(line)
            if mark and fence in ("", mark[1]):
                fence = "" if fence else mark[1]
            heading = None if fence else HEADING.match(line)
            if heading:
                parts.append((re.sub(r"[`*]", "", heading[2]), len(heading[1]), []))
            elif not parts:
                parts.append((self.topic, 1, []))
            parts[-1][2].append(line)
        return tuple(Section(self.topic, name, level, "\n".join(lines).strip()) for name, level, lines in parts)

    @property
    def title(self) -> str:
        """The first heading."""
        return self.sections[0].heading if self.sections else self.topic


def folder() -> Path:
    """Return the folder of the pages: beside the packages, or where the installation put it.

    Raises:
        RequestError: the pages are not installed.
    """
    bases = [Path(sysconfig.get_path("data")), Path(site.getuserbase())]
    for each in (Path(__file__).parents[1] / "docs", *(base / "share" / "doc" / "zabcheck" for base in bases)):
        if (each / f"{INDEX}.md").is_file():
            return each
    raise RequestError("the pages are not installed: share/doc/zabcheck is not there")


def pages(where: Path) -> list[ManualPage]:
    """Return every page in a folder but the indexes of its subfolders, in the order of KINDS, then by topic."""
    found = []
    for kind in KINDS:
        paths = [path for path in (where / kind).glob("*") if path.suffix in (".md", ".ipynb")]
        topics = {path: path.relative_to(where).with_suffix("").as_posix() for path in paths}
        found += [ManualPage(topics[p], p) for p in sorted(paths) if p.stem != INDEX or not kind]
    return found


def page_named(topic: str, where: Sequence[ManualPage]) -> ManualPage | None:
    """Return the page with a topic, or with a last part of one that no other page has; a suffix may follow it."""
    name = re.sub(r"\.(md|ipynb)$", "", topic.lower().removeprefix("docs/"))
    exact = [page for page in where if page.topic.lower() == name]
    last = exact or [page for page in where if page.topic.lower().rpartition("/")[2] == name]
    return last[0] if len(last) == 1 else None


@dataclass(frozen=True)
class SearchResult:
    """The result of a search in the pages.

    Attributes:
        words: the search terms in lower case.
        complete: whether some section has all of them.
        sections: those that have at least half of them, best first.
    """

    words: tuple[str, ...]
    complete: bool
    sections: tuple[Section, ...]


def search(words: Sequence[str], where: Sequence[ManualPage]) -> SearchResult:
    """Return the sections that have at least half of some words, best first.

    A word stands for every word that begins like it (`checks` for `checked`), whatever its case. Words such as `the`
    are not searched for, unless there is no other. A word counts more the fewer sections have it, and in a heading or
    where a table explains it; a section counts more the more of the words it has.
    """
    every = tuple(dict.fromkeys(part.lower() for word in words for part in WORD.findall(word)))
    wanted = tuple(word for word in every if word not in COMMON) or every
    found = [(page, section) for page in where for section in page.sections]
    counts = {word: [occurrences(word, page, section) for page, section in found] for word in wanted}
    rarity = {word: math.log(1 + len(found) / (1 + sum(map(bool, counts[word])))) for word in wanted}
    had = [sum(counts[word][k] > 0 for word in wanted) for k in range(len(found))]
    scores = {
        k: sum(rarity[word] * counts[word][k] for word in wanted) * (had[k] / len(wanted)) ** 2 * weight(found[k][0])
        for k in range(len(found))
        if had[k] and 2 * had[k] >= len(wanted)
    }
    best = sorted(scores, key=lambda k: -scores[k])
    return SearchResult(wanted, len(wanted) in had, tuple(found[k][1] for k in best))


def occurrences(word: str, page: ManualPage, section: Section) -> float:
    """Return the weight of a word in a section: between 0 and 1 for its text, more if a heading or a table has it."""
    stem = ENDING.sub("", word) if len(word) > SHORT else word
    count = section.words.count(f" {stem}")
    heading = f" {stem}" in spaced(section.heading)
    title = f" {stem}" in spaced(page.title)
    explained = word in section.terms
    return count / (count + 0.5 + len(section.words) / 900) + 1.5 * (heading + explained) + 0.7 * title


def spaced(text: str) -> str:
    """Return the words of a text in lower case, each after a space."""
    return "".join(f" {word}" for word in WORD.findall(text.lower()))


def weight(page: ManualPage) -> float:
    """Return the weight of a page among others: less for decision records, findings and the gallery."""
    return 0.5 if page.topic.startswith(LATER) else 1.0
