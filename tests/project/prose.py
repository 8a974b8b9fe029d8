"""Check the prose of a page by the rules of CONTRIBUTING.md ("The pages"): words, sentences, lines, beginning."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.project.page_map import without_fences

LONGEST_LINE = 120
LONGEST_SENTENCE = 40  # words
MEAN_SENTENCE = 25
FIRST_LINES = 60  # within which the first example of a page stands

# Words and turns that the project does not use, and what to write instead. They are looked for in prose alone: code,
# fences and quotations ("...") are left out.
DIALECT = {
    r"told|tells? (?:of|us)": "report, message",
    r"(?:is|are|was|were|be|been) said|said (?:of|to be)": "report, state",
    r"(?:is|are|was|were|be|been) asked|asked (?:of|for|by)|asks (?:of|for)": "request, check; configuration",
    r"(?:of )?one's own|of (?:some|any)body's own|(?:some|any)body(?:'s)?": "user protocol; a process, a user",
    r"foreign (?:text|protocol)": "user protocol",
    r"what (?:is|was) broken|what breaks": "violation, violated property",
    r"(?:what|all that) (?:is|was) found": "result, violation",
    r"for ever": "starvation; never",
    r"not so|none: there is none": "not; None, no X",
    r"quiet (?:step|receipt|write)s?|looks beyond": "invisible step, visible step",
    r"by itself alone|left on their own": "ample process; remaining work",
    r"stuck": "deadlock",
    r"asleep|sleepers?|put to sleep": "sleep set",
    r"idle receipts?": "stuttering receipt",
    r"(?:is|are|was|begins?|starts?|explored|searched) anew|begins? again": "restart, rerun",
    r"careful(?:ly)? judg(?:ing|ed)|judg(?:ing|ed) carefully": "partial observation",
    r"(?:taken|take|takes) for granted": "assume, assumption",
    r"held against": "checked against, compared with",
    r"(?:comes?|came|coming) to (?:a|no|the) verdict|what (?:it|they|all) comes? to": "reach a verdict; the result",
    r"put to the test": "checked non-vacuously",
    r"(?:is|are|was|were) not met|nobody|no one": "not reached; no process, no user",
    r"stands? (?:in|once|at|beside|here|there)": "is in, is listed",
    r"there is no more to (?:it|say)|as it is asked": "by default",
    r"errs|that err": "fail with a run-time error",
    r"thought of": "considered",
}
PATTERNS = {re.compile(rf"\b(?:{turn})\b", re.IGNORECASE): instead for turn, instead in DIALECT.items()}
QUOTED = re.compile(r"`[^`]*`|\"[^\"\n]{1,200}\"|“[^”]{1,200}”")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|cf|vs|etc|Fig|Figs|Sec|No|al|approx|resp)\.", re.IGNORECASE)
END = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+(?=[\"'(\[*_`A-Z0-9])")
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
LINK = re.compile(r"!?\[((?:[^][`]|`[^`]*`|\[[^]]*\])*)\]\([^)]*\)")


def plain(text: str) -> str:
    """Return prose with each code span as one word, each link as its words."""
    text = re.sub(r"`[^`]*`", "`code`", text)
    return LINK.sub(lambda found: found[1], text)


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs and list items of a page, each in one line; headings, tables and fences are left out."""
    gathered: list[str] = []
    for line in [*without_fences(text).splitlines(), ""]:
        outside = not line.strip() or line.startswith(("#", "|", "---", "===")) or bool(re.match(r"\s*<", line))
        if (outside or ITEM.match(line)) and gathered:
            yield " ".join(gathered)
            gathered = []
        if not outside:
            gathered.append(ITEM.sub("", line, count=1) if ITEM.match(line) else re.sub(r"^\s*>?\s*", "", line))


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page."""
    for paragraph in paragraphs(text):
        whole = ABBREVIATION.sub(lambda found: found[1], plain(paragraph))
        yield from filter(None, (part.strip() for part in END.split(whole)))


def length(sentence: str) -> int:
    """Count the words of a sentence."""
    return len(re.findall(r"`code`|[^\W_][\w'’./+-]*", sentence))


def dialect(text: str) -> Iterator[tuple[str, str]]:
    """Yield each turn of the old dialect in the prose of a page: the turn, and what to write instead."""
    prose = QUOTED.sub("", without_fences(text))
    for pattern, instead in PATTERNS.items():
        yield from ((re.sub(r"\s+", " ", found[0]), instead) for found in pattern.finditer(prose))


def long_lines(text: str) -> Iterator[int]:
    """Yield the numbers of lines that are too long: not of fences, tables and lines that are one link."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r" *(```|~~~)", line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        elif not fence and len(line) > LONGEST_LINE and not line.startswith(("|", "<!--")):
            if not LINK.fullmatch(ITEM.sub("", line, count=1).strip().rstrip(".")):
                yield number


def beginning(text: str, kind: str) -> Iterator[str]:
    """Yield what is missing at the beginning of a page: what the reader can do after it, and an example."""
    lines = text.splitlines()
    if not lines or not lines[0].startswith("# "):
        yield "begins with no heading"
    first = next(paragraphs(text), "")
    if not re.search(r"\b[Yy]ou\b[^.]*\b(can|know|have|will|see|find)\b", first):
        yield "its first paragraph does not say what the reader can do: 'After this page you can ...'"
    head = "\n".join(lines[:FIRST_LINES])
    if kind in ("tutorial", "how-to", "reference") and not re.search("<!-- (run|example):", head):
        yield f"no example whose output is checked (<!-- run: or example: -->) within {FIRST_LINES} lines"
    if kind == "explanation" and not re.search(r"^ *(```|~~~)|!\[", head, flags=re.MULTILINE):
        yield f"no example, and no picture, within {FIRST_LINES} lines"


def faults(text: str, kind: str = "") -> Iterator[str]:
    """Yield what a page has against the rules of prose.

    Args:
        text: Markdown.
        kind: of the page map; empty: a page of no kind, whose beginning is not checked.
    """
    for turn, instead in dialect(text):
        yield f"{turn!r}: write {instead}"
    lengths = [length(sentence) for sentence in sentences(text)]
    for sentence in sentences(text):
        if length(sentence) > LONGEST_SENTENCE:
            yield f"a sentence of {length(sentence)} words: {sentence[:80]} ..."
    if lengths and sum(lengths) / len(lengths) > MEAN_SENTENCE:
        yield f"sentences have {sum(lengths) / len(lengths):.1f} words on average, more than {MEAN_SENTENCE}"
    for number in long_lines(text):
        yield f"line {number} is longer than {LONGEST_LINE}"
    if kind not in ("", "generated"):
        yield from beginning(text, kind)
