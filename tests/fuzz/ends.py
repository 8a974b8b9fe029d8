"""Every command x every way to end early: files that are none, no time, no memory, no folder, streams, signals.

The commands come from click's registry. A new one is walked without a line here: its arguments are made from their
types. `WORDS` has words for those that need more to be a question.
"""

from __future__ import annotations

import json
import random
import shlex
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from checker.cli import main
from checker.commands.common import INPUT
from zabspec.signals import ENDING

from .running import Outcome, Setting
from .truth import SENTENCE

TINY = "--nodes 2 --txns 1 --timeouts 0 --crashes 0 --losses 0"
# What a command is asked where it needs more than its arguments to be cheap, or a question at all.
WORDS = {
    "": f"{TINY} --no-trace --json",
    "simulate": "simulate --rounds 60 --check --json",
    "sweep": "sweep swept --seeds 1:3 --rounds 50",
    "realise": "realise db19.trace.json --attempts 20 --threads 1 --json",
    "export": "export zab.trace.json --to text",
    "report": "report run.json --html",
    "bmc": f"bmc {TINY} --depth 2 --time-limit 5 --json --no-trace",
    "induct": f"induct {TINY} --max-epoch 1 --clause promises --processes 1 --time-limit 5 --json",
    "prove": "prove --mutant list",
    "refine": f"refine {TINY} --depth 3 --json",
    "quorums": "quorums zoo.cfg --json",
    "judge": "judge run.parquet --engine plain --threads 1 --json",
    "check": "check zabcheck.toml --json",
    "audit": "audit data --json",
    "zookeeper": "zookeeper ZK-1 --time-limit 2",
    "gallery": "gallery small-quorum --json",
    "init": "init made.py",
    "plan": "plan --servers 3 --outstanding 1 --json",
    "minimise": "minimise zab.trace.json --search 0.1 --output out.json",
}
LIVE = f"--live {TINY} --no-trace --json"
# What stands for an argument of a type of ours.
FOR_ARGUMENTS = "zab.trace.json"
# Options that name a file and are text to click, each with the form of its value.
NAMED = {"--protocol": "./{}.py", "--from": "{}:1", "servers": "{}"}
# More words in which a file is named.
BESIDE = ("audit {} --logs", f"{TINY} --checkpoint {{}} --resume --json")
# Parameters that name a folder, or a file that is there.
FOLDERS = ("checkpoint", "smt2", "folder", "traces", "out")
PAGES = (("check", "--html"), ("gallery", "--html"))  # a page for each check
LONG = "x" * 300
# Names under which no file is read; and files that are read and are not what they should be.
NO_FILES = ("fifo", "socket", "/dev/zero", "/dev/full", LONG, "loop", "none/at/all", "zoo.cfg/below", "/proc/self/mem")
BAD_FILES = ("empty", "binary", "huge", "/proc/self/pagemap", "/proc/self/maps")
# Names under which nothing can be written.
NO_OUTPUT = ("fifo", "socket", LONG, "loop", "none/at/all", "zoo.cfg/below", "swept")
KINDS = ("file", "content", "output", "time", "memory", "folder", "stream", "signal", "answered")
STREAMS = (
    {0: "closed"}, {1: "closed"}, {2: "closed"}, {1: "full"}, {2: "full"}, {1: "unread"}, {2: "unread"},
    {0: "closed", 1: "closed", 2: "closed"},
)  # fmt: skip
ENDLESS = ("walk",)  # serves until it is interrupted: tests/walk/test_command.py
LATE = 60.0  # CPU seconds: what takes longer waits for something that never comes


@dataclass(frozen=True)
class Case:
    """A command, how it is run, and the exit codes that are right."""

    kind: str
    words: tuple[str, ...]
    codes: tuple[int, ...]
    setting: Setting = field(default_factory=Setting)


def names() -> list[str]:
    """Every command that ends by itself; the one without a name first."""
    assert isinstance(main, click.Group)
    return ["", *(name for name in main.list_commands(click.Context(main)) if name not in ENDLESS)]


def command(name: str) -> click.Command:
    if not name:
        return main
    found = main.get_command(click.Context(main), name)  # type: ignore[attr-defined]
    assert isinstance(found, click.Command)
    return found


def words_of(name: str) -> list[str]:
    """A question of a command."""
    if name in WORDS:
        return shlex.split(WORDS[name])
    required = [p for p in command(name).params if isinstance(p, click.Argument) and p.required]
    return [name, *(FOR_ARGUMENTS for _ in required)]


def inputs(name: str) -> Iterator[list[str]]:
    """For every parameter of a command that names a file: its words, with `{}` for that name."""
    words = words_of(name)
    for p in command(name).params:
        form = "{}" if p.type is INPUT else NAMED.get(p.opts[0])
        if form is None:
            continue
        if isinstance(p, click.Option):
            whole = ["audit", "data"] if name == "audit" else [w for w in words if w != p.opts[0]]
            yield [*whole, p.opts[0], form]
            continue
        flags = words[1:]
        if flags and not flags[0].startswith("-"):
            flags = flags[1:]  # the argument
        yield [name, form, *flags]


def outputs(name: str) -> Iterator[list[str]]:
    """For every option of a command that names a file to write: its words, with `{}` for that name."""
    words = words_of(name)
    for p in command(name).params:
        folder = p.name in FOLDERS or (name, p.opts[0]) in PAGES
        if isinstance(p.type, click.Path) and p.type is not INPUT and not folder:
            yield [name, "{}"] if isinstance(p, click.Argument) else [*without(words, p), p.opts[0], "{}"]


def without(words: list[str], p: click.Parameter) -> list[str]:
    """The words without an option, and without those that contradict it."""
    if p.opts[0] == "--trace":
        words = [w for w in words if w != "--no-trace"]
    if p.opts[0] not in words:
        return words
    at = words.index(p.opts[0])
    return words[:at] + words[at + 1 + (at + 1 < len(words) and not words[at + 1].startswith("-")) :]


def has(name: str, flag: str) -> bool:
    return any(flag in p.opts for p in command(name).params)


def cases(name: str, source: random.Random) -> Iterator[Case]:
    """Every case of a command."""
    words = tuple(words_of(name))
    beside = [shlex.split(line) for line in BESIDE if shlex.split(line)[0] == name or (not name and line[0] == "-")]
    for given in [*inputs(name), *beside]:
        for kind, files in (("file", NO_FILES), ("content", BAD_FILES)):
            for file in files:
                own = tuple(w.replace("{}", file) if "{}" in w else w for w in given)
                yield Case(kind, own, (2, 3) if "/proc/" in file or kind == "content" else (2,))
    for given in outputs(name):
        for file in NO_OUTPUT:
            yield Case("output", tuple(w.replace("{}", file) for w in given), (2,))
    if has(name, "--time-limit"):
        at = words.index("--time-limit") if "--time-limit" in words else len(words)
        json_too = ("--json",) if has(name, "--json") and "--json" not in words and name != "zookeeper" else ()
        for seconds in ("0.000001", "0.01"):
            yield Case("time", (*words[:at], "--time-limit", seconds, *words[at + 2 :], *json_too), (0, 1, 2, 3))
    for room in (0, 1 << 20, 16 << 20, 100 << 20):
        yield Case("memory", words, (0, 1, 2, 3), Setting(memory=room))
    yield Case("folder", words, (0, 1, 2, 3), Setting(gone=True))
    for stream in STREAMS:
        yield Case("stream", words, (0, 1, 2, 3), Setting(streams=stream))
    for number in ENDING:
        calls = int(10 ** source.uniform(0, 5.3))
        yield Case("signal", words, (0, 1, 2, 3), Setting(signal=number, calls=calls))
        yield Case("answered", words, (0, 1, 2, 3), Setting(signal=number, answered=int(10 ** source.uniform(0, 2))))


def signals_at_random(count: int, seed: int) -> Iterator[Case]:
    """So many commands, each with a signal after so many calls of functions, or so many seconds."""
    source = random.Random(seed)
    everything = [*(words_of(name) for name in names()), shlex.split(LIVE)]
    for _ in range(count):
        number, words = source.choice(ENDING), tuple(source.choice(everything))
        if source.random() < 0.2:
            setting = Setting(signal=number, answered=int(10 ** source.uniform(0, 2)))
        elif source.random() < 0.7:
            setting = Setting(signal=number, calls=int(10 ** source.uniform(0, 6)))
        else:
            setting = Setting(signal=number, after=source.uniform(0, 1.5))
        yield Case("signal", words, (0, 1, 2, 3), setting)


def walk(seed: int, each: int | None) -> Iterator[Case]:
    """Cases of every command.

    Args:
        each: how many of each kind of a command; None: all.
    """
    source = random.Random(seed)
    for name in names():
        by_kind: dict[str, list[Case]] = {}
        for case in cases(name, source):
            by_kind.setdefault(case.kind, []).append(case)
        if not name:
            live = tuple(shlex.split(LIVE))
            by_kind["time"] += [Case("time", (*live, "--time-limit", s), (3,)) for s in ("0.000001", "0.01")]
        for found in by_kind.values():
            yield from found if each is None else source.sample(found, min(each, len(found)))


def odd_files(folder: Path) -> None:
    """What stands in a folder and cannot be copied there."""
    import os

    os.mkfifo(folder / "fifo")
    os.mkfifo(folder / "fifo.py")
    for name in ("socket", "socket.py"):
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.relpath(folder / name))
    for name in ("loop", "loop.py"):
        (folder / name).symlink_to(name)
    for name in ("empty", "empty.py"):
        (folder / name).touch()
    for name in ("binary", "binary.py"):
        (folder / name).write_bytes(bytes(range(256)) * 40)
    for name in ("huge", "huge.py"):
        with open(folder / name, "wb") as file:
            file.truncate(1 << 40)


def wrong(case: Case, o: Outcome, folder: Path) -> list[str]:
    """What is wrong with how a case ended."""
    out = []
    if o.code not in case.codes:
        out.append(f"exit code {o.code}, and not {' or '.join(map(str, case.codes))}")
    if o.late:
        out.append("it did not end by itself")
    if "Traceback" in o.err or "internal error" in o.err or list(folder.glob("zabcheck-error-*")):
        out.append("an error that was not foreseen")
    if o.out and not o.out.startswith('{"format"') and '"error"' not in o.out and "interrupted; there" in o.err:
        out.append("it has answered, and says that it was interrupted")
    spoiled = case.setting.streams
    if 2 not in spoiled and o.code == 2 and not SENTENCE.fullmatch(o.err):
        out.append("2 is one sentence")
    if 1 not in spoiled and "--json" in case.words and o.code in (0, 1, 3):
        out += not_json(o)
    return out


def not_json(o: Outcome) -> list[str]:
    try:
        said: Any = json.loads(o.out)
    except ValueError:
        return ["--json, and this is no JSON"]
    if isinstance(said, dict) and said.get("exit_code", o.code) != o.code:
        return [f"the JSON says {said['exit_code']}, the exit code is {o.code}"]
    return []
