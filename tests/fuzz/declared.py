"""Commands whose words are derived from the declarations of requests, run in this process by click's runner.

Every command begins as one that is answered at once. Options are added to it with values at, below and beyond the
limits of their fields, of other types, with files that there are not; flags are repeated, misspelt, or of another
command. A field that is declared later is tried without a change here.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import NoReturn, get_origin

from click import Context
from click.testing import CliRunner

from checker.cli import KINDS, main
from checker.commands.deriving import kinds_of
from checker.requests.base.kinds import kind_named
from checker.requests.base.request import Field, fields_of
from zabspec.typed import alternatives, limit_in

from .commands import GARBAGE, NAMES, SAMPLES, TINY
from .running import Outcome

MOST = 6.0  # CPU seconds of a command, which is then interrupted
# By command, words that are answered at once, or refused at the last moment.
BASES = {
    "": (
        f"{TINY} --depth 2 --no-trace --max-states 99", f"{TINY} --witness integrity --depth 2 --no-trace",
        f"{TINY} --live --depth 1 --max-states 99 --no-trace", f"{TINY} --search --time-limit 0.1 --no-trace",
        f"{TINY} --mutate 1 --depth 1 --time-limit 1",
    ),
    "audit": ("data", "no/such"), "bmc": (f"{TINY} --depth 1 --time-limit 1 --no-trace",),
    "chaos": ("--release 3.9.1 --zookeeper no/such --jar no/such",), "check": ("zabcheck.toml --only none",),
    "conform": ("no/such",), "export": ("zab.trace.json --to text", "--model --to tla --output M.tla"),
    "gallery": ("--list",), "graph": (f"{TINY} --depth 2",), "induct": ("--list",),
    "judge": ("run.parquet --threads 1",),
    "lint": ("no.py",), "minimise": ("zab.trace.json --search 0.05 --output out.json",), "plan": ("--servers 3",),
    "properties": ("",), "prove": ("--mutant list",), "quorums": ("zoo.cfg",), "variants": ("joiner",),
    "realise": ("db19.trace.json --attempts 2 --threads 1 --time-limit 0.2",), "reenact": ("ZK-1 --zookeeper no/such",),
    "refine": ("--nodes 2 --depth 1 --threads 1 --max-states 9",), "replay": ("zab.trace.json",),
    "report": ("run.json",), "simulate": ("--rounds 20",), "sweep": ("new --seeds nine",), "walk": ("--nodes 99",),
    "zookeeper": ("ZK-9999 --time-limit 0.1",),
}  # fmt: skip
# What begins Spark or a server, waits, or takes minutes.
LEFT_OUT = ("checkpoint", "engine", "evidence", "heavy", "master", "rerun", "symbolic", "watch")


def declared() -> Mapping[str, list[Field]]:
    """Return the fields of every command that have an option."""
    found = {"": [*KINDS]}
    for name in main.list_commands(Context(main)):
        if (kind := kind_named(name)) is not None:
            found[name] = [*kinds_of(kind)]
    out: dict[str, list[Field]] = {}
    for name, kinds in found.items():
        fields = {f.name: f for kind in kinds for f in fields_of(kind).values() if f.option and f.name not in LEFT_OUT}
        out[name] = list(fields.values())
    return out


def values(field: Field) -> tuple[list[str], list[str]]:
    """Return values of a field as words: those within its limits, though a request may refuse them, and others."""
    place = field.option.place if field.option else ""
    if place:
        return ["out"] if place == "write" else [*SAMPLES], ["no/such/file", ".", "", "/dev/null"]
    if field.choices:
        return field.choices, [field.choices[0][:-1], "", "nope"]
    limits = (limit_in(marks) for _, marks in alternatives(field.hint))
    limit = next((each for each in limits if each is not None), None)
    if field.element is int:
        low, high = (limit.ge or 0, limit.le) if limit is not None else (0, None)
        beyond = [low - 1, *([high + 1] if high is not None else []), -(2**31), 2**63, 10**40]
        return [str(int(low)), str(int(low) + 1)], [*(str(int(n)) for n in beyond), "x", "1.5", "", "0x1", "1e9"]
    if field.element is float:
        return ["0.05", "1e-300"], ["0", "-1", "nan", "inf", "1e309", "x", ""]
    if get_origin(field.type) is Mapping:
        return ["crashes=1"], ["x=1", "=", "crashes=x", "1", "a=1,a=2", *GARBAGE[:12]]
    return [*NAMES], [*GARBAGE]


class DeclaredFuzzer:
    """Makes commands from declarations."""

    def __init__(self, seed: int) -> None:
        self.source, self.fields = random.Random(seed), declared()

    def command(self) -> list[str]:
        source = self.source
        name = source.choice([*["", "", "", ""], *BASES])
        words = [*([name] if name else []), *source.choice(BASES[name]).split()]
        for _ in range(source.choice((0, 1, 1, 1, 1, 2, 3))):
            words += self.added(name if source.random() < 0.93 else source.choice(list(BASES)))
        if source.random() < 0.08:
            del words[source.randrange(len(words))]
        return words

    def added(self, name: str) -> list[str]:
        """Return an option of a command with a value; now and then twice, misspelt, without a value, or a word more."""
        source = self.source
        field = source.choice(self.fields.get(name) or self.fields[""])
        assert field.option is not None
        word = [] if field.option.argument else [field.flag]
        if not isinstance(field.default, bool) and source.random() < 0.97:
            word.append(source.choice(source.choice(values(field))))
        what = source.random()
        if what < 0.06:
            return word * 2
        if what < 0.12 and word:
            return [word[0][:-1] + "x", *word[1:]]
        return word


def run_here(words: list[str], folder: Path) -> Outcome:
    """Run a command in this process, in a folder."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before, began = Path.cwd(), time.perf_counter()
    signal.signal(signal.SIGPROF, interrupt)
    os.chdir(folder)
    signal.setitimer(signal.ITIMER_PROF, MOST, MOST)
    try:
        result = CliRunner().invoke(main, words)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        os.chdir(before)
    crashed = result.exception is not None and not isinstance(result.exception, SystemExit)
    err = result.stderr + ("Traceback" if crashed else "")
    return Outcome(tuple(words), result.exit_code, result.stdout, err, time.perf_counter() - began)
