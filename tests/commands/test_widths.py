"""What every command prints, at the widths of terminals and in a pipe: no name is cut, no line is too long."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checker.ci.shipped import gallery
from checker.report.formats import terminal
from invariants import PROPERTIES
from tests.commands.running import BROKEN, TINY, run
from zabspec.protocols.registry import PROTOCOLS

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CONFIG = "group.1=1:2:3\ngroup.2=4:5:6\n" + "".join(f"server.{n}=host{n}:2888:3888\n" for n in range(1, 7))
NAMES = {"property", "progress_property", "clause", "variant"}  # keys of JSON whose values are identifiers


def named(content: Any) -> Iterator[str]:
    """Every identifier in a JSON report."""
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        if isinstance(value, dict | list):
            yield from named(value)
        elif key in NAMES and value:
            yield value
        elif key == "properties" and isinstance(content, dict) and isinstance(value, dict):
            yield from value


COMMANDS: dict[str, tuple[str, ...]] = {
    "variants": ("variants",),
    "properties": ("properties",),
    "gallery": ("gallery", "--list"),
    "explore": TINY,
    "explore, violated": BROKEN,
    "explore, live": (*TINY, "--live"),
    "simulate": ("simulate", "--seed", "14", "--show", "--check"),
    "graph": ("graph", *BROKEN),
    "plan": ("plan",),
    "quorums": ("quorums", "zoo.cfg"),
    "clauses": ("induct", "--list"),
    "mutants of the proof": ("prove", "--mutant", "list"),
}
WITH_JSON = ("explore", "explore, violated", "explore, live", "simulate", "graph", "plan", "quorums", "clauses")
LISTED = {
    "variants": lambda: [name for p in PROTOCOLS.values() for v in p.variants for name in (p.name, v)],
    "properties": lambda: [p.name for p in PROPERTIES],
    "gallery": lambda: [c.name for c in gallery().matrix.checks],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_cuts_a_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 80 and 120 columns, in a pipe and with `NO_COLOR`: every name that is in the JSON is in the text."""
    monkeypatch.chdir(tmp_path)
    Path("zoo.cfg").write_text(CONFIG)
    piped, parts = answered(name, monkeypatch)
    names = set(LISTED[name]() if name in LISTED else ())
    if name in WITH_JSON:
        names |= set(named(json.loads(run(*COMMANDS[name], "--json").stdout)))
    texts = [(80, piped), (80, "\n".join(map(terminal.text_of, parts)))]
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm-256color")
        shown = terminal.coloured(parts)
        assert COLOUR.search(shown) or not any(isinstance(part, terminal.Table) and part.head for part in parts)
        texts.append((width, COLOUR.sub("", shown)))
        monkeypatch.setenv("NO_COLOR", "1")
        assert terminal.coloured(parts) == COLOUR.sub("", shown)
        monkeypatch.delenv("NO_COLOR")
    for width, text in texts:
        assert "…" not in text
        assert "\x1b" not in text
        words = set(re.split(r"[^\w.:-]+", text))
        assert {one for one in names if one not in words and one.rstrip(".:") not in words} == set()
        for line in text.splitlines():
            assert len(line) <= width or len(line.split()) <= 2, f"{width}: {line}"


def answered(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, list[terminal.Part]]:
    """What a command writes to a pipe, and the parts that it renders."""
    parts: list[terminal.Part] = []
    text_of = terminal.text_of

    def kept(part: terminal.Part, width: int | None = None) -> str:
        parts.append(part)
        return text_of(part, width)

    with monkeypatch.context() as patched:
        patched.setattr(terminal, "text_of", kept)
        piped = run(*COMMANDS[name]).stdout
    assert parts, piped
    return piped, parts


def test_rows_are_stacked_where_columns_do_not_fit() -> None:
    rows = [("an-identifier-that-is-long", "another-one-of-the-kind", "x" * 30)]
    part = terminal.Table(rows, ("name", "other", "third"))
    for width in (45, 60, 100):
        text = terminal.text_of(part, width)
        assert all(cell in text.split() for cell in rows[0])
        assert max(map(len, text.splitlines())) <= width
    assert "    third: " in terminal.text_of(part, 60)
    assert len(terminal.text_of(part, 100).splitlines()) == 2
