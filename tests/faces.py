"""Every face of a result: its text, its JSON, its page and other formats, a notebook's. All say the same sentence."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from checker.commands import deriving, publishing
from checker.report.answer import Answered
from checker.report.formats.registry import formats_of
from checker.report.result import NOT_REACHED, Result


def squashed(text: str) -> str:
    """The letters and digits of a text, small: blanks are where lines are folded, and pages set clauses apart."""
    return re.sub(r"[\W_]+", "", text).lower()


def shown(page: str) -> str:
    """What a page shows."""
    return squashed(unescape(re.sub(r"(?s)<(script|style).*?</\1>|<[^>]*>", " ", page)))


def unlike(result: Result) -> list[str]:
    """The faces of a result that do not say its sentence, or its exit code."""
    clauses, written = result.sentence.split("; "), json.loads(json.dumps(result.as_json(), allow_nan=False))
    wrong = []
    if isinstance(written, dict):
        said = (written.get("sentence", result.sentence), written.get("exit_code", result.exit_code))
        wrong += ["JSON"] if said != (result.sentence, result.exit_code) else []
        clauses += [written["headline"]] if "headline" in written else []
        word = str(written.get("answer", written.get("verdict")))
        wrong += ["JSON's word"] if word == NOT_REACHED and not result.sentence.startswith(word) else []
    made = {name: one.render(result).decode() for name, one in formats_of(result.kind).items()}
    pages = {name: text for name, text in made.items() if name == "html"}
    if isinstance(result, Answered):
        pages["notebook"] = result._repr_html_()
        text = squashed(result.text())
        begins = text.startswith(squashed(clauses[-1 if result.kind == "audit" else 0]))
        said_there = squashed(clauses[0].partition(": ")[2] or clauses[0]) in text
        if not ((said_there and (begins or result.kind == "replay")) or result.raw or result.kind == "listed"):
            wrong.append("text")
    for name, page in pages.items():
        there = shown(unescape(page) if "srcdoc" in page else page)
        wrong += [name] if not all(squashed(clause) in there for clause in clauses) else []
    return [f"{name} of {type(result).__name__} does not say: {result.sentence}" for name in wrong]


@contextlib.contextmanager
def every_face() -> Iterator[list[str]]:
    """Show what commands publish meanwhile in every face; what is handed out becomes a list of what is wrong."""
    wrong: list[str] = []
    real = publishing.publish

    def publish(result: Result, *given: Any, **named: Any) -> Any:
        wrong.extend(unlike(result))
        return real(result, *given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deriving, "publish", publish)
        yield wrong
