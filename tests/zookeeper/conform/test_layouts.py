"""Logs in every layout say the same: one reader for `audit --logs` and `conform`."""

from __future__ import annotations

import gzip
import json
import lzma
import re
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checker.cli import main
from traces.zookeeper.conform.server_lines import ServerLines, read_server_lines
from traces.zookeeper.server_logs.text_logs import read_text_logs
from zabspec.files import Unreadable

DATA = Path(__file__).parents[2] / "data"
COMES_BACK = DATA / "logs-comes-back.tar.xz"
OWN = re.compile(r"(\S+ \S+) \[myid:(\d*)\] - (\w+) +\[(.*?):([\w.$]+)@(\d+)\] - (.*)")


def unpacked(packed: Path, folder: Path) -> Path:
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.rglob("log1.txt")).parent


def millis(when: str) -> int:
    found = datetime.strptime(when.replace(".", ","), "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
    return round(found.timestamp() * 1000)


def log4j_json(m: re.Match[str]) -> str:
    when, myid, level, thread, logger, _, message = m.groups()
    seconds, rest = divmod(millis(when), 1000)
    return json.dumps({
        "instant": {"epochSecond": seconds, "nanoOfSecond": rest * 1_000_000}, "thread": thread, "level": level,
        "loggerName": logger, "message": message, "contextMap": {"myid": myid},
    })  # fmt: skip


def logback_json(m: re.Match[str]) -> str:
    when, myid, level, thread, logger, _, message = m.groups()
    return json.dumps({
        "@timestamp": when.replace(" ", "T").replace(",", ".") + "Z", "@version": "1", "message": message,
        "logger_name": logger, "thread_name": thread, "level": level, "myid": myid,
    })  # fmt: skip


def logback(m: re.Match[str]) -> str:
    when, _, level, thread, logger, _, message = m.groups()
    return f"{when} [{thread}] {level:5} org.apache.zookeeper.{logger} - {message}"


def strimzi(m: re.Match[str]) -> str:
    when, _, level, thread, logger, _, message = m.groups()
    return f"{when} {level} {message} (org.apache.zookeeper.server.quorum.{logger}) [{thread}]"


def in_layout(text: str, layout: Callable[[re.Match[str]], str]) -> str:
    return "".join((layout(m) if (m := OWN.fullmatch(line)) else line) + "\n" for line in text.splitlines())


LAYOUTS = (log4j_json, logback_json, logback, strimzi)
ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "utf-16": lambda text: text.encode("utf-16"),
    "utf-16-be": lambda text: text.encode("utf-16-be"),
    "windows": lambda text: text.replace("\n", "\r\n").encode("utf-8-sig"),
    "gz": lambda text: gzip.compress(text.encode()),
    "utf-16 in gz": lambda text: gzip.compress(text.encode("utf-16-le")),
}


def said(lines: ServerLines) -> Any:
    """What the lines say, without times and places."""
    each = {
        (which, n): [(x.kind, x.life, x.values, x.learner, x.sends, x.members, x.took) for x in of]
        for which, those in (("main", lines.main), ("handled", lines.handled))
        for n, of in those.items()
    }
    votes = [(v.server, v.life, v.sender, v.state, v.leader, v.round, v.epoch, v.zxid) for v in lines.votes]
    return each, votes, lines.problems, sorted(lines.releases)


def phases(paths: list[Path]) -> Any:
    return [(e.server, e.kind, e.value, e.learner, e.phase) for e in read_text_logs(paths).events]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_every_layout_says_the_same(tmp_path: Path, layout: Callable[[re.Match[str]], str]) -> None:
    folder = unpacked(COMES_BACK, tmp_path / "own")
    own = {n: folder / f"log{n}.txt" for n in (1, 2, 3)}
    other = {n: tmp_path / f"log{n}.txt" for n in own}
    for n, path in own.items():
        other[n].write_text(in_layout(path.read_text(), layout))
        assert other[n].read_text() != path.read_text()
    lines = read_server_lines(other)
    assert min(len(of) for of in lines.main.values()) > 5
    assert said(lines) == said(read_server_lines(own))
    assert phases([*other.values()]) == phases([*own.values()])


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_says_the_same(tmp_path: Path, name: str) -> None:
    folder = unpacked(COMES_BACK, tmp_path / "own")
    own = {n: folder / f"log{n}.txt" for n in (1, 2, 3)}
    other = {n: tmp_path / f"log{n}.txt" for n in own}
    for n, path in own.items():
        other[n].write_bytes(ENCODINGS[name](path.read_text()))
    assert said(read_server_lines(other)) == said(read_server_lines(own))
    assert phases([*other.values()]) == phases([*own.values()])


def test_one_file_can_be_of_all_servers_and_a_server_can_have_several(tmp_path: Path) -> None:
    folder = unpacked(COMES_BACK, tmp_path / "own")
    own = {n: folder / f"log{n}.txt" for n in (1, 2, 3)}
    together = tmp_path / "all.log"
    texts = [path.read_text().replace("[myid:]", f"[myid:{n}]") for n, path in own.items()]
    parts = [text.splitlines(keepends=True) for text in texts]
    mixed = [line for k in range(0, max(map(len, parts)), 7) for lines in parts for line in lines[k : k + 7]]
    together.write_text("".join(mixed))
    wanted = said(read_server_lines(own))
    assert sorted(map(str, said(read_server_lines([together]))[0].items())) == sorted(map(str, wanted[0].items()))
    halves = []
    for n, lines in enumerate(parts, 1):
        for part, some in enumerate((lines[:90], lines[90:])):
            halves.append(tmp_path / f"zk{n}.log.{part}")
            halves[-1].write_text("".join(some))
    assert said(read_server_lines(halves))[0] == wanted[0]
    assert sorted(phases([together])) == sorted(phases([*own.values()]))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (lzma.compress(b"x"), "compressed (xz)"),
        (b"\x28\xb5\x2f\xfdrest", "compressed (zstd)"),
        (gzip.compress(b"line\n" * 999)[:-20], "damaged"),
    ],
    ids=("xz", "zstd", "torn gz"),
)
def test_what_cannot_be_read_is_said_by_name(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "odd.log"
    path.write_bytes(data)
    for read in (lambda: read_text_logs([path]), lambda: read_server_lines([path])):
        with pytest.raises(Unreadable) as problem:
            read()
        assert str(path) in str(problem.value)
        assert says in str(problem.value)


def test_logs_as_operators_sent_them(tmp_path: Path) -> None:
    """UTF-16 of a Windows machine, and gzip, of one run."""
    with tarfile.open(DATA / "logs-utf16-gz.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    wide, packed = sorted(tmp_path.glob("u16*.log")), sorted(tmp_path.glob("gz*.log.gz"))
    assert len(phases(wide)) == len(phases(packed)) == 89
    assert said(read_server_lines(wide))[:2] == said(read_server_lines(packed))[:2]


def test_a_file_without_a_phase_is_named(tmp_path: Path) -> None:
    folder = unpacked(COMES_BACK, tmp_path / "own")
    (tmp_path / "quiet.log").write_text("2026-11-28 20:14:30,625 [myid:4] - INFO  [main:X@1] - nothing\n")
    done = CliRunner().invoke(main, ["audit", "--logs", str(folder / "log1.txt"), str(tmp_path / "quiet.log")])
    assert "quiet.log has no line of a phase" in done.output


@pytest.mark.slow(seconds=8)
def test_logs_of_3_5_are_explained(tmp_path: Path) -> None:
    """A healthy run of 3.5.10 with kills, which does not log what a start has loaded."""
    unpacked(DATA / "conform-logs-3.5.10.tar.xz", tmp_path)
    for n in (1, 2, 3):  # named like those of an operator, one of them compressed
        path = tmp_path / f"log{n}.txt"
        (tmp_path / f"zk{n}.log.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    done = CliRunner().invoke(main, ["conform", str(tmp_path)])
    assert (done.exit_code, done.output[:10]) == (0, "EXPLAINED:"), done.output
