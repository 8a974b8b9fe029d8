"""Files that nobody means well with, directories that cannot be written, and questions that are wrong."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from checker.zookeeper.report.audit_document import AuditReport
from tests.fuzz.audited import originals, resealed
from tests.patience import HANG
from tests.zookeeper.healthy import TXNS, healthy
from tests.zookeeper.written import Txn, Written, create, digested, ensemble, server, snapshot_bytes, tree_of, zxid
from traces.zookeeper.disk import kernel, tree_kernel
from traces.zookeeper.disk.memory import ByteBuffer, Scan, Tree
from traces.zookeeper.disk.server import find_directory
from zabspec.language.native.kernels import machine
from zabspec.typed import read, schema

TOP = Path(__file__).parents[2]


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["audit", *map(str, words)])


@pytest.mark.slow(seconds=2)
def test_mutated_files_end_in_findings() -> None:
    words = ("-m", "tests.fuzz.audited", "--directories", "20", "--seed", "11", "--seconds", str(HANG))
    done = subprocess.run([sys.executable, *words], cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr  # a process of its own: its memory is nobody else's


def test_kernels_read_and_write_within_their_memory() -> None:
    """The kernels in CPython, where every access is checked, over logs that are damaged behind right checksums."""
    draw = random.Random(5)
    whole = originals()[0]
    data = b"".join(t.record() for txns in whole.files.values() for t in txns)
    for _ in range(12):
        bytes_ = resealed(bytes(16) + data, draw)[16:]
        text = ByteBuffer(room=len(bytes_))
        text.views["data"].memory[:] = bytes_
        scans = []
        for run_ in (kernel.scan_on, machine(kernel.scan_on)):
            s = Scan(text=text, most=64, double=128)
            s.longest, s.filled = 1 << 20, len(bytes_)
            run_(s)
            tree = Tree(text=ByteBuffer(room=1 << 12), most=128, slots=256, lists=0, most_events=64)
            tree_kernel.fill_table(tree) if run_ is kernel.scan_on else machine(tree_kernel.fill_table)(tree)
            (tree_kernel.replay if run_ is kernel.scan_on else machine(tree_kernel.replay))(tree, s, 0, s.count)
            scans.append((s.count, s.stop, s.events, [s.hash[k] for k in range(s.count)], tree.total, tree.count))
        assert scans[0] == scans[1]


def test_the_checksum_is_adler_and_the_digest_crc() -> None:
    draw = random.Random(3)
    text, tree = ByteBuffer(room=9000), Tree(text=ByteBuffer(room=1), most=1, slots=2, lists=0, most_events=1)
    tree_kernel.fill_table(tree)
    for length in (0, 1, 7, 8, 9, 100, 2047, 2048, 2049, 5000, 9000):
        data = draw.randbytes(length)
        text.views["data"].memory[:length] = data
        assert kernel.adler(text, 0, length) == zlib.adler32(data)
        assert tree_kernel.crc(tree, text, 0xFFFFFFFF, 0, length) ^ 0xFFFFFFFF == zlib.crc32(data)
        value = draw.randrange(-(1 << 63), 1 << 63)
        assert tree_kernel.crc_long(tree, 0xFFFFFFFF, value) ^ 0xFFFFFFFF == zlib.crc32(struct.pack(">q", value))


@pytest.mark.slow(seconds=3)
def test_a_decompression_bomb_is_not_let_grow(tmp_path: Path) -> None:
    s = healthy()
    node = snapshot_bytes(tree_of(TXNS[:3]), None)[: -len(b"\0\0\0\1/") * 2 - 8]
    bomb = gzip.compress(node + bytes(64 << 20), 9)
    s[0].raw[f"snapshot.{zxid(2, 1):x}.gz"] = bomb
    s[1].raw[f"snapshot.{zxid(2, 1):x}.gz"] = gzip.compress(
        struct.pack(">iiqi", 0x5A4B534E, 2, -1, 9_999_999) + bytes(1 << 26)
    )
    start = time.process_time()
    found = run(*ensemble(tmp_path, *s), "--json")
    assert time.process_time() - start < 20
    assert found.exit_code in (0, 1)
    assert "Traceback" not in found.output


def test_links_pipes_and_devices_are_neither_followed_nor_waited_for(tmp_path: Path) -> None:
    folders = ensemble(tmp_path, *healthy())
    inside = folders[0] / "version-2"
    os.mkfifo(inside / f"log.{zxid(9, 1):x}")
    (inside / f"snapshot.{zxid(1, 2):x}").symlink_to(inside / f"snapshot.{zxid(1, 2):x}")
    (folders[1] / "loop").symlink_to(folders[1])
    found = run(*folders, "--json")
    assert found.exit_code == 3  # two files could not be read
    said = json.loads(found.output)
    assert sorted(f["code"] for f in said["findings"]) == ["UNREADABLE", "UNREADABLE"]
    assert said["verdict"] == "UNKNOWN"


@pytest.mark.parametrize("name", ["log.400000001", "snapshot.400000001", "acceptedEpoch"])
def test_a_link_to_nothing_hides_no_history(tmp_path: Path, name: str) -> None:
    """A disk that is not mounted: the server does not start, and what it has is not known."""
    folders = ensemble(tmp_path, *(server(TXNS) for _ in "123"))
    (link := folders[0] / "version-2" / name).unlink(missing_ok=True)
    link.symlink_to(tmp_path / "not mounted" / name)
    done = CliRunner().invoke(main, ["audit", *map(str, folders), "--json"])
    assert (done.exit_code, json.loads(done.stdout)["verdict"]) == (3, "UNKNOWN")


def test_a_name_orders_no_terminal_and_marks_up_no_page(tmp_path: Path) -> None:
    evil = "/\x1b[2J<script>alert(1)<x>\u202e"
    good = digested([*TXNS, Txn(zxid(3, 7), *create(evil)), Txn(zxid(3, 8), *create("/after"))])
    other = [replace(t, body=create(evil, b"other")[1]) if t.zxid == zxid(3, 7) else t for t in good]
    folders = ensemble(tmp_path, server(good), server(good), server(other))
    found = run(*folders, "--html", tmp_path / "a.html", "--junit", tmp_path / "a.xml")
    assert found.exit_code == 1
    assert "\x1b" not in found.output
    assert "\u202e" not in found.output
    page = (tmp_path / "a.html").read_text()
    assert page.count("<script") == page.count("<script>") == 1  # the shell's
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    from xml.etree import ElementTree

    assert ElementTree.parse(tmp_path / "a.xml").getroot().get("failures") == "1"


def test_what_nodes_hold_is_not_shown_unless_asked_for(tmp_path: Path) -> None:
    other = [replace(t, body=t.body.replace(b"data 6", b"date 6")) if t.zxid == zxid(2, 6) else t for t in TXNS]
    folders = ensemble(tmp_path, server(TXNS), server(TXNS), server(other))
    assert "date 6" not in run(*folders).output
    assert "date 6" not in run(*folders, "--json").output
    assert "date 6" in run(*folders, "--show-data").output


def test_the_report_keeps_its_schema(tmp_path: Path) -> None:
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

    s = healthy()
    s[1] = server([t for t in TXNS if t.zxid != zxid(2, 3)])
    found = json.loads(run(*ensemble(tmp_path, *s), "--json").output)
    Draft202012Validator(schema(AuditReport)).validate(found)
    read(found, AuditReport)
    assert [f["code"] for f in found["findings"]] == ["GAP", "MISSING"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name the directories"),
        (["nowhere"], "there is no folder"),
        (["empty"], "no version-2"),
        (["file"], "the data directory of each server"),
        (["server1", "server1"], "one directory"),
        (["server1,server2", "server3"], "are two servers"),
        (["."], "several folders version-2"),
        (["server1", "--config", "file"], "no server that votes"),
        (["server1", "--config", "nowhere"], "No such file"),
        (["server1", "--html", "nowhere/a.html"], "no folder"),
        (["server1", "--jsn"], "there is no option --jsn; did you mean --json"),
    ],
)
def test_a_wrong_question_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    ensemble(tmp_path, *healthy())
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    monkeypatch.chdir(tmp_path)
    found = run(*words)
    assert found.exit_code == 2
    assert said in found.stderr
    assert found.stdout == ""
    assert found.stderr.startswith("zabcheck: ")
    assert found.stderr.count("\n") <= 1


def test_myid_shows_which_of_two_directories_has_the_data(tmp_path: Path) -> None:
    """Without epochs the logs were taken for the data, and the server for one that refuses its files."""
    data, logs = tmp_path / "data", tmp_path / "logs"
    healthy()[0].write(data)
    (logs / "version-2").mkdir(parents=True)
    (data / "myid").write_text("1")
    for path in (data / "version-2").iterdir():
        if path.name.startswith("log."):
            path.rename(logs / "version-2" / path.name)
        elif path.name.endswith("Epoch"):
            path.unlink()
    assert find_directory([logs, data], "server1").folders == [data / "version-2", logs / "version-2"]


def test_data_and_logs_may_lie_apart(tmp_path: Path) -> None:
    folders = ensemble(tmp_path, *healthy())
    words = []
    for folder in folders:
        logs = tmp_path / "logs" / folder.name / "version-2"
        logs.mkdir(parents=True)
        for path in (folder / "version-2").glob("log.*"):
            path.rename(logs / path.name)
        words.append(f"{folder},{logs.parent}")
    found = run(*words, "--json")
    assert found.exit_code == 0
    assert [s["records"] for s in json.loads(found.output)["servers"]] == [len(TXNS)] * 3


def test_an_unreadable_header_is_a_violation_and_an_empty_folder_a_note(tmp_path: Path) -> None:
    s = healthy()
    s[0] = Written({}, {}, None)
    assert run(*ensemble(tmp_path / "a", *s)).exit_code == 0
    s[1].raw[f"log.{zxid(3, 9):x}"] = b"\x93random" * 40
    assert run(*ensemble(tmp_path / "b", *s)).exit_code == 1


@pytest.mark.slow(seconds=5)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_somebody_without_the_right_to_write_can_audit(tmp_path: Path) -> None:
    """As a user who owns nothing of it, in directories that nobody may write; an unreadable file is no verdict."""
    tmp_path = Path(tempfile.mkdtemp(dir="/tmp"))  # pytest's own are closed to others
    folders = ensemble(tmp_path, *healthy())
    for path in [tmp_path, *tmp_path.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    # as root first: Python itself may lie where nobody else may read
    code = "import os,sys;from click.testing import CliRunner;from checker.cli import main;w=sys.argv[1:];"
    code += "CliRunner().invoke(main,w);os.setgid(65534);os.setuid(65534);main(w)"
    env = os.environ | {"ZABCHECK_CACHE": str(tmp_path / "none"), "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", code, "audit", *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stdout[:3]) == (0, "OK:"), done.stderr
    (folders[0] / "version-2" / f"log.{zxid(1, 1):x}").chmod(0)
    assert subprocess.run(command, capture_output=True, text=True, env=env, check=False).returncode == 3
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("log.100000001", b"ZKLG", "one file of a server"),
        ("currentEpoch", b"3", "one file of a server"),
        ("zoo.cfg", b"tickTime=2000\ndataDir = /data/zk1\n", "configuration (dataDir /data/zk1)"),
        ("zookeeper.out", b"2026-01-01 00:00:00,000 [myid:1] - INFO  [main:o.a.z.s.q.QuorumPeer]", "--logs"),
        ("x", b"\x1b[31mdataDir=\x1b\n", "the data directory of each server"),
    ],
)
def test_a_file_is_told_what_is_needed_instead(tmp_path: Path, name: str, text: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(text)
    answer = run(tmp_path / name)
    assert answer.exit_code == 2
    assert said in answer.output
    assert "dataDir in zoo.cfg" in answer.output
    assert "\x1b" not in answer.output
