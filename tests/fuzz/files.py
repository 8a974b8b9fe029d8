"""Files that commands read, and what is left of them after some of their bytes, or values, were changed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .audited import originals
from .running import run

TINY = ("--nodes", "2", "--txns", "1", "--timeouts", "0", "--crashes", "0", "--losses", "0")
MADE = (
    (*TINY, "--variant", "small-quorum", "--trace", "zab.trace.json"),
    ("--protocol", "db19", "--nodes", "2", "--timeouts", "1", "--trace", "db19.trace.json"),
    ("simulate", "--seed", "14", "--rounds", "300", "--check", "--trace", "run.trace.json"),
    ("simulate", "--seed", "14", "--rounds", "300", "--proposals", "3", "--table", "run.parquet"),
)  # fmt: skip
ZOO = """tickTime=2000
server.1=a:2888:3888
server.2=b:2888:3888
server.3=c:2888:3888
server.4=d:2888:3888:participant;2181
server.5=e:2888:3888:observer
group.1=1:2
group.2=3
group.3=4
weight.1=2
weight.4=0
"""
# Which commands read a file, and how often each is given one.
READERS = {
    "replay {zab.trace.json}": 10,
    "replay {db19.trace.json} --json": 6,
    "export {zab.trace.json} --to text": 8,
    "export {db19.trace.json} --to json": 6,
    "export {zab.trace.json} --to itf": 6,
    "export {run.trace.json} --to svg --cone 3": 3,
    "minimise {zab.trace.json} --search 0.2 --output out.json": 4,
    "realise {db19.trace.json} --attempts 20 --time-limit 2 --threads 1": 4,
    "bmc --from {zab.trace.json}:2 --depth 1 --property integrity --time-limit 3": 3,
    "quorums {zoo.cfg} --json": 14,
    "judge {run.parquet} --json": 14,
    "check {zabcheck.toml} --json": 20,
}
ODD = (
    0, 1, 2, 3, 7, 200, 255, 256, -1, 2**31, 2**63, 2**64, 10**40, True, False, None, 1.0, 0.5, "", "0", "p0",
    "x\x1b[2J", "\n", "\u202e", [], [0], [[]], {}, {"kind": "receive"}, "integrity", "unique-zxid", "NOBODY",
)  # fmt: skip
CRUDE = (
    b"", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"{", b"}", b"[" * 3000, b'"', b"\\ud800", b"NaN", b"-Infinity", b"1e999",
    b"9" * 5000, b"\x1b[2J", b"\n", b",", b'"property": "agreement",', b"-", b"=", b".", b"server.1=a:1:2",
    b"weight.2=-9", b"group.9=1", b":observer", "é".encode(), b"PAR1",
)  # fmt: skip


MATRIX = """
[defaults]
nodes = 2
txns = 1
timeouts = 0
crashes = 0
losses = 0
time_limit = 20
[[check]]
name = "tiny"
depth = 9
expect = { verdict = "holds", premises = ["one-primary-an-epoch"], source = "DSN'11" }
[[check]]
name = "half"
variant = "small-quorum"
keep_going = true
max_states = 150
expect = { verdict = "violated", violated = { durability = 11, delivered-is-chosen = 11 }, source = "DSN'11, II.1" }
"""


def samples(folder: Path) -> None:
    """Make the files in a folder."""
    for words in MADE:
        made = run(words, folder, 1800)
        assert made.code in (0, 1), made
    explored = run((*TINY, "--json"), folder, 1800)
    assert explored.code == 0, explored
    (folder / "run.json").write_text(explored.out)
    originals()[0].write(folder / "data")
    (folder / "zoo.cfg").write_text(ZOO)
    (folder / "zabcheck.toml").write_text(MATRIX)
    (folder / "swept").mkdir()


@dataclass(frozen=True)
class Damaged:
    """A command with a changed file.

    Attributes:
        name: the file, among those of the folder.
        data: what is in it instead.
    """

    words: tuple[str, ...]
    name: str
    data: bytes


def damaged(folder: Path, count: int, seed: int) -> Iterator[Damaged]:
    """So many commands, each with a file that was changed."""
    source = random.Random(seed)
    readers = [line for line, weight in READERS.items() for _ in range(weight)]
    for _ in range(count):
        line = source.choice(readers)
        name = line[line.index("{") + 1 : line.index("}")]
        given = f"swept/{name}".split("/")[1] if name.startswith("swept") else name
        words = line.replace("{" + name + "}", given).split()
        data = (folder / name).read_bytes()
        for _ in range(source.choice((1, 1, 1, 2, 3))):
            data = changed(data, name, source)
        yield Damaged(tuple(words), name, data)


def changed(data: bytes, name: str, source: random.Random) -> bytes:
    if name.endswith(".json") and source.random() < 0.7:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return bytes_changed(data, source)
        return json.dumps(value_changed(value, source)).encode()
    return bytes_changed(data, source)


def bytes_changed(data: bytes, source: random.Random) -> bytes:
    at, end = sorted(source.randrange(len(data) + 1) for _ in range(2))
    what = source.random()
    if what < 0.3:
        return data[:at] + bytes([source.randrange(256)]) + data[at + 1 :]
    if what < 0.5:
        return data[:at] + source.choice(CRUDE) + data[at:]
    if what < 0.6:
        return data[:at]
    if what < 0.8:
        return data[:at] + data[min(end, at + source.choice((1, 8, 100))) :]
    lines = data.splitlines(keepends=True) or [b""]
    line = source.randrange(len(lines))
    other = source.choice((lines[line : line + 1] * 2, [], [source.choice(lines)]))
    return b"".join([*lines[:line], *other, *lines[line + 1 :]])


def value_changed(value: Any, source: random.Random) -> Any:
    """A copy in which one value somewhere is another, or one name."""
    value = copy.deepcopy(value)
    at, key = None, None
    place = value
    while isinstance(place, dict | list) and place and (at is None or source.random() < 0.85):
        at, key = place, source.choice(list(place) if isinstance(place, dict) else range(len(place)))
        place = place[key]
    if at is None:
        return source.choice(ODD)
    what = source.random()
    if isinstance(at, list) and what < 0.2:
        at.insert(source.randrange(len(at) + 1), source.choice((place, source.choice(ODD))))
    elif what < 0.3:
        del at[key]
    elif isinstance(at, dict) and what < 0.35:
        at[f"{key}{source.choice(('x', ' ', chr(27)))}"] = at.pop(key)
    elif isinstance(place, int) and what < 0.7:
        at[key] = place + source.choice((1, -1))
    else:
        at[key] = source.choice(ODD)
    return value
