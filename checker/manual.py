"""Find, read and search the pages of the documentation, in the source tree or where the installation put them."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from checker.errors import RequestError
from checker.page_tables import with_tables
from zabspec.files import folder_of

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
LISTED = re.compile(r"^( *@?(?:def )?([A-Za-z_]\w+)\b[^\n]*? (?: |# )[^\n]*)$", re.MULTILINE)
PROSE = re.compile(r" *[\w`*\[(-]")
ITEM = re.compile(r"^ *(?:[-*]|\d+\.) ")
SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z`*\[(])")
LONGEST = 200  # letters of a beginning
WORD = re.compile(r"[^\W_]+")
AROUND = "?!,;:.\"'()[]{}`*"  # what may surround a word of a search
ENDING = re.compile(r"(ing|ed|es|s|e)$")
SHORT = 4  # letters: words up to this length are searched for unchanged
COMMON = frozenset(
    WORD.findall(
        "a an and are as at be by can do does for from has have how i if in is it my of on or should that the then "
        "this to was what when where which who why will with you your"
    )
)


@dataclass(frozen=True)
class Term:
    """A word of a search: a plain word, or a term with marks inside it, such as `no-op`, `III.1` or `--json`.

    Attributes:
        word: in lower case.
    """

    word: str

    @property
    def plain(self) -> bool:
        """Whether it is a plain word, which also stands for those that begin like it (`checks` for `checked`)."""
        return WORD.fullmatch(self.word) is not None

    @cached_property
    def stem(self) -> str:
        return ENDING.sub("", self.word) if len(self.word) > SHORT else self.word

    @cached_property
    def exact(self) -> re.Pattern[str]:
        """What matches the term itself, and no part of a longer one."""
        return re.compile(rf"(?<!\w){re.escape(self.word)}(?!\w)")

    def count(self, text: str) -> int:
        """Return how often a text in lower case has the term; of a plain word, also those that begin like it."""
        return spaced(text).count(f" {self.stem}") if self.plain else len(self.exact.findall(text))


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

    def count(self, term: Term) -> int:
        """Return how often it has a term."""
        return self.words.count(f" {term.stem}") if term.plain else term.count(self.text.lower())

    @cached_property
    def terms(self) -> dict[str, str]:
        """What it explains: of a row the second cell by the first, of a listing a line by its first name.

        A head is no row. In a listing two blanks, or a `#`, stand before the explanation.
        """
        rows = re.findall(r"^\| *[`*]*([^|`*]+?)[`*]* *\|([^|]+).*$(?!\n\|[ :-]+\|)", self.text, flags=re.MULTILINE)
        found = {first.lower(): MARKUP.sub(lambda mark: mark[1] or "", second).strip() for first, second in rows}
        return {name.lower(): " ".join(line.split()) for line, name in reversed(LISTED.findall(self.text))} | found

    def excerpt(self, terms: Sequence[Term]) -> str:
        """Return the match that a search shows: the table row that explains a term, or the sentence with most terms."""
        known = ((t.word, self.terms[t.word]) for t in terms if t.word in self.terms)
        explained = (text if word in text.lower()[: len(word) + 5] else f"{word}: {text}" for word, text in known)
        said = max(self.sentences, key=lambda said: sum(t.count(said.lower()) > 0 for t in terms), default=self.heading)
        return next(explained, shortened(" ".join(said.strip(" |").split()), terms))

    @cached_property
    def sentences(self) -> list[str]:
        """Its text in sentences, its tables and fences in lines, without marks."""
        out: list[str] = []
        fence, prose = "", ""
        for line in [*self.text.splitlines()[1:], ""]:
            mark = FENCE.match(line)
            if mark and fence in ("", mark[1]):
                fence = "" if fence else mark[1]
            continues = not (fence or mark) and PROSE.match(line) and not ITEM.match(line)
            if prose and not continues:
                out += SENTENCE.split(MARKUP.sub(lambda found: found[1] or "", prose))
                prose = ""
            if not (fence or mark) and PROSE.match(line):
                prose = f"{prose} {ITEM.sub('', line)}".strip()
            elif not mark and line.strip(" |-:"):
                out.append(MARKUP.sub(lambda found: found[1] or "", line).strip())
        return out


def shortened(said: str, terms: Sequence[Term]) -> str:
    """Return a text that is too long as the part of it around the first of some terms."""
    if len(said) <= LONGEST:
        return said
    at = min((found.start() for t in terms if (found := t.exact.search(said.lower()))), default=0)
    begins = said.rfind(" ", 0, max(0, at - LONGEST // 2)) + 1
    return ("... " if begins else "") + textwrap.shorten(said[begins:], LONGEST, placeholder=" ...")


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
    if (found := folder_of("docs", f"{INDEX}.md")) is not None:
        return found
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
        terms: what was searched for.
        complete: whether some section has all of them.
        sections: those that have at least half of them, best first.
    """

    terms: tuple[Term, ...]
    complete: bool
    sections: tuple[Section, ...]


def search(words: Sequence[str], where: Sequence[ManualPage]) -> SearchResult:
    """Return the sections that have at least half of some terms, best first.

    Words such as `the` are not searched for, unless there is no other. A term with marks inside it is searched for as
    it stands; if no section has it, its words are. Words that a table explains together are one term. A term counts
    more the fewer sections have it, and in a heading, as it stands, or where it is explained; a section counts more the
    more of the terms it has.
    """
    found = [(page, section) for page in where for section in page.sections]
    given = dict.fromkeys(part for word in words for part in (w.strip(AROUND) for w in word.lower().split()) if part)
    asked = f" {' '.join(given)} "
    explained = {name for _, section in found for name in section.terms if " " in name and f" {name} " in asked}
    every: dict[Term, None] = dict.fromkeys(map(Term, sorted(explained)))
    phrased = {part for name in explained for part in name.split()}
    for term in (Term(part) for part in given if part not in phrased):
        there = term.plain or any(section.count(term) for _, section in found)
        every |= dict.fromkeys([term] if there else map(Term, WORD.findall(term.word)))
    wanted = tuple(term for term in every if term.word not in COMMON) or tuple(every)
    alone = len(wanted) == 1
    counts = {term: [occurrences(term, page, section, alone) for page, section in found] for term in wanted}
    rarity = {term: math.log(1 + len(found) / (1 + sum(map(bool, counts[term])))) for term in wanted}
    had = [sum(counts[term][k] > 0 for term in wanted) for k in range(len(found))]
    scores = {
        k: sum(rarity[term] * counts[term][k] for term in wanted) * (had[k] / len(wanted)) ** 2 * weight(found[k][0])
        for k in range(len(found))
        if had[k] and 2 * had[k] >= len(wanted)
    }
    best = sorted(scores, key=lambda k: -scores[k])
    return SearchResult(wanted, len(wanted) in had, tuple(found[k][1] for k in best))


def occurrences(term: Term, page: ManualPage, section: Section, alone: bool) -> float:
    """Return the weight of a term in a section: between 0 and 1 for its text, more if a heading or a row has it.

    Args:
        alone: whether nothing else is searched for: a row about a plain word answers no longer question.
    """
    count = section.count(term)
    heading = term.count(section.heading.lower()) > 0
    itself = term.exact.search(section.heading.lower()) is not None
    title = term.count(page.title.lower()) > 0
    explained = term.word in section.terms and (alone or not term.plain)
    return count / (count + 0.5 + len(section.words) / 900) + 1.5 * (heading + explained) + 0.7 * (itself + title)


def spaced(text: str) -> str:
    """Return the words of a text in lower case, each after a space."""
    return "".join(f" {word}" for word in WORD.findall(text.lower()))


def weight(page: ManualPage) -> float:
    """Return the weight of a page among others: less for decision records, findings and the gallery."""
    return 0.5 if page.topic.startswith(LATER) else 1.0
