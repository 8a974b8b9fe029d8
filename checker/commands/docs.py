"""`zabcheck docs`: the pages of the documentation, read and searched in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from checker.commands import completing
from checker.commands.common import Subcommand
from checker.commands.publishing import publish
from checker.ending import Answer
from checker.errors import HELD, RequestError
from checker.manual import KINDS, ManualPage, folder, page_named, pages, search
from checker.report.answer import StatedAnswer
from checker.report.formats.terminal import rendered
from checker.report.result import Table, plural

MOST = 10  # sections that a search lists
EXAMPLES = """\b
Examples:
  zabcheck docs                     every page
  zabcheck docs ci                  one page
  zabcheck docs ci#what-it-writes   one section
  zabcheck docs resume killed       the sections that have these words
  zabcheck docs --keep-going        those about an option
"""


@click.command(cls=Subcommand, epilog=EXAMPLES, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, metavar="[TOPIC | WORD...]", shell_complete=completing.docs_topics)
@click.option("--search", "searching", is_flag=True, help="Search for the words, even if they name a page.")
@click.option("--json", "as_json", is_flag=True, help="The page, the list or the sections as JSON.")
def docs(words: tuple[str, ...], searching: bool, as_json: bool) -> Answer:
    """Show a page of the documentation, list the pages, or search them.

    A TOPIC is a page as listed, or a section as a search reports it. Other WORDs are searched for.
    """
    where = folder()
    there = pages(where)
    if not words:
        return publish(listing(where, there), as_json, long=True)
    if not searching and len(words) == 1 and (found := named(words[0], there)) is not None:
        page, text = found
        content = {"topic": page.topic, "title": page.title, "file": str(page.path), "text": text}
        return Answer.of(HELD, as_json, lambda: content, lambda: rendered(text), indent=1, long=not as_json)
    return publish(searched(words, there), as_json, long=True)


def listing(where: Path, there: Sequence[ManualPage]) -> StatedAnswer:
    """Return the list of the pages, by kind."""
    parts: list[str | Table] = [f"{len(there)} pages in {where}; `zabcheck docs TOPIC` shows one:"]
    for kind, heading in KINDS.items():
        of_kind = [page for page in there if page.kind == kind]
        if of_kind:
            parts.append(Table([(page.topic, page.title) for page in of_kind], title=heading))
    content = {"folder": str(where), "pages": [{"topic": page.topic, "title": page.title} for page in there]}
    return StatedAnswer(f"{len(there)} pages", content=content, body=parts, kind="docs")


def named(word: str, there: Sequence[ManualPage]) -> tuple[ManualPage, str] | None:
    """Return the page that a word names, and its text or that of its section; None if the word names no page.

    Raises:
        RequestError: the page has no such section.
    """
    topic, mark, anchor = word.partition("#")
    page = page_named(topic, there)
    if page is None:
        return None
    return page, section_of(page, anchor) if mark else page.text.strip()


def section_of(page: ManualPage, anchor: str) -> str:
    """Return a section of a page with its subsections.

    Raises:
        RequestError: the page has no such section.
    """
    at = next((k for k, section in enumerate(page.sections) if section.anchor == anchor.lower()), None)
    if at is None:
        anchors = ", ".join(section.anchor for section in page.sections)
        raise RequestError(f"the page {page.topic} has no section {anchor}; it has {anchors}")
    below = [page.sections[at]]
    for section in page.sections[at + 1 :]:
        if section.level <= below[0].level:
            break
        below.append(section)
    return "\n\n".join(section.text for section in below)


def searched(words: Sequence[str], there: Sequence[ManualPage]) -> StatedAnswer:
    """Return the sections that have at least half of the words, best first.

    Raises:
        RequestError: no section has.
    """
    found = search(words, there)
    if not found.sections:
        raise RequestError(f"no page has {' '.join(words)}. `zabcheck docs` lists the pages")
    shown, terms = found.sections[:MOST], [term.word for term in found.terms]
    none = "" if found.complete else "; none has all of them"
    more = f"; the best {len(shown)}" if len(shown) < len(found.sections) else ""
    head = f"{plural(len(found.sections), 'section')} for {' '.join(terms)}{none}{more}."
    head += " `zabcheck docs TOPIC` shows one:"
    rows = [(each.topic, each.excerpt(found.terms)) for each in shown]
    sections = [{"topic": topic, "excerpt": excerpt} for topic, excerpt in rows]
    content = {"query": terms, "complete": found.complete, "count": len(found.sections), "sections": sections}
    return StatedAnswer(head, content=content, body=[head, Table(rows)], kind="docs")
