"""What every command prints, at the widths of terminals and in a pipe: no name is cut, no line is too long."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from checker.ci.shipped import gallery
from checker.cli import main
from checker.report.formats import terminal
from checker.zookeeper.record import Exploring
from invariants import PROPERTIES
from tests.commands.running import BROKEN, TINY, run
from zabspec.protocols.registry import PROTOCOLS

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
DATA = Path(__file__).parents[1] / "data" / "saved"
LOG = "2026-11-21 07:21:31,600 [myid:1] - INFO  [main:Learner@1] - LOOKING\n"
CHECKS = """
[[check]]
name = "a-check-whose-name-is-long"
variant = "small-quorum"
nodes = 2
txns = 1
timeouts = 0
crashes = 0
losses = 0
properties = ["durability"]

[check.expect]
verdict = "violated"
violated = { durability = 11 }
source = "here"
"""
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
    "init": ("init", "tpc.py"),
    "replay": ("replay", "run.trace.json"),
    "minimise": ("minimise", "run.trace.json", "--search", "0.1"),
    "audit": ("audit", "--logs", "zk1.log"),
    "check": ("check",),
    "zookeeper": ("zookeeper", "ZK-4643"),
    "lint": ("lint", "mine.py"),
    "docs": ("docs",),
}
# What prints no table: a script, a server, a page, a file in another form (`test_cli.py`). And what takes Spark, a Java
# server or seconds of z3, whose parts are those of the others (`checker/report/result.py`).
ELSEWHERE = {
    "completion",
    "mcp",
    "export",
    "walk",
    "report",
    "sweep",
    "judge",
    "reenact",
    "realise",
    "bmc",
    "refine",
    "chaos",
    "conform",
}
WITH_JSON = ("explore", "explore, violated", "explore, live", "simulate", "graph", "plan", "quorums", "clauses")
LISTED = {
    "variants": lambda: [name for p in PROTOCOLS.values() for v in p.variants for name in (p.name, v)],
    "properties": lambda: [p.name for p in PROPERTIES],
    "gallery": lambda: [c.name for c in gallery().matrix.checks],
}


def test_every_command_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new command is in one of the two tables; and every help fits, at both widths."""
    with click.Context(main) as ctx:
        names = main.list_commands(ctx)
    assert {words[0] for words in COMMANDS.values() if not words[0].startswith("-")} | ELSEWHERE == set(names)
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        for name in names:
            text = run(name, "--help").stdout.partition("Examples:")[0]
            assert [line for line in text.splitlines() if len(line) > width] == [], name


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_cuts_a_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 80 and 120 columns, in a pipe and with `NO_COLOR`: every name that is in the JSON is in the text."""
    monkeypatch.chdir(tmp_path)
    Path("zoo.cfg").write_text(CONFIG)
    Path("zk1.log").write_text(LOG)
    Path("zabcheck.toml").write_text(CHECKS)
    shutil.copy(DATA / "agreement.trace.json", "run.trace.json")
    shutil.copy(DATA.parents[2] / "examples" / "two_phase_commit.py", "mine.py")
    monkeypatch.setattr("checker.zookeeper.record.explored", lambda *_: Exploring(0, 1234, 0.1, True, "", None))
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
