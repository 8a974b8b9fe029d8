"""Every command x every way to end early: `python -m tests.fuzz --ends 99` walks all of them, test_fuzz.py a sample.

The commands come from click's registry (`tests/fuzz/ends.py`): a new one is walked without a line here.
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from checker import ending
from checker.cli import main
from checker.commands.common import INPUT
from tests.commands import running
from tests.commands.running import run
from tests.fuzz import ends
from tests.fuzz.running import Outcome, Setting
from tests.fuzz.truth import SENTENCE
from tests.patience import HANG
from zabspec.files import Unreadable, check_readable, opened, read_bytes, read_small, replacing, write_whole
from zabspec.limits import Deadline, done_in_time, need_room
from zabspec.signals import SignalHandler
from zabspec.temporary import temporary_folder

TOP = Path(__file__).parents[2]
TINY = (*running.TINY, "--no-trace")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- the walk --------------------------------------------------------------------------------------


def test_every_command_of_the_registry_is_walked() -> None:
    assert {*main.list_commands(click.Context(main))} - {*ends.ENDLESS} < {*ends.names()}  # type: ignore[attr-defined]
    by_command: dict[str, set[str]] = {}
    for case in ends.walk(1, None):
        name = case.words[0] if case.words[0] in ends.names() else ""
        by_command.setdefault(name, set()).add(case.kind)
    assert by_command.keys() == set(ends.names())
    for name, kinds in by_command.items():
        assert kinds >= {"memory", "folder", "stream", "signal", "answered"}, name
        assert ("file" in kinds) == bool(list(ends.inputs(name))), name


def test_a_command_that_is_new_is_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    new = click.Command("new", params=[click.Argument(["file"], type=INPUT), click.Option(["--time-limit"])])
    plain = ends.command
    monkeypatch.setattr(ends, "command", lambda name: new if name == "new" else plain(name))
    found = list(ends.cases("new", random.Random(1)))
    assert {c.kind for c in found} == set(ends.KINDS) - {"output"}, "it writes no file"
    assert ("new", "/dev/zero") in {c.words for c in found}


def test_every_path_that_is_an_argument_is_one_that_is_read() -> None:
    """Of `init` alone it is written."""
    for name in ends.names():
        for p in ends.command(name).params:
            if isinstance(p, click.Argument) and isinstance(p.type, click.Path):
                assert (p.type is INPUT) is (name != "init"), (name, p.name)


def test_what_the_walk_refuses_is_seen(folder: Path) -> None:
    case = ends.Case("file", ("judge", "fifo", "--json"), (2,))
    good = Outcome(case.words, 2, "", "zabcheck: no\n", 0.1)
    assert not ends.wrong(case, good, folder)
    for code, out, err, late in (
        (3, "", "zabcheck: no\n", False), (-6, "", "", False), (2, "", "zabcheck: no\n", True),
        (2, "", "Traceback\n", False), (2, "", "", False),
    ):  # fmt: skip
        assert ends.wrong(case, Outcome(case.words, code, out, err, 0.1, late), folder)
    cut = ends.Case("time", ("--live", "--json"), (3,))
    assert not ends.wrong(cut, Outcome(cut.words, 3, '{"exit_code": 3}', "", 0.1), folder)
    for out in ("", "no verdict", '{"exit_code": 0}'):
        assert ends.wrong(cut, Outcome(cut.words, 3, out, "", 0.1), folder)
    answered = ends.Case("answered", ("variants",), (0, 1, 2, 3), Setting(signal=15, answered=1))
    assert ends.wrong(
        answered, Outcome(answered.words, 3, "protocol", "zabcheck: interrupted; there is ...\n", 0.1), folder
    )
    gone = ends.Case("stream", ("--json",), (3,), Setting(streams={1: "full"}))
    assert not ends.wrong(gone, Outcome(gone.words, 3, "", "", 0.1), folder)


# --- the door --------------------------------------------------------------------------------------


def test_one_door_opens_every_file(folder: Path) -> None:
    (folder / "small").write_bytes(b"12345")
    os.mkfifo("fifo")
    Path("loop").symlink_to("loop")
    with open("huge", "wb") as file:
        file.truncate(1 << 40)
    assert read_bytes("small", 5) == read_small("small") == b"12345"
    for name, why in (
        ("fifo", errno.EINVAL), ("/dev/zero", errno.EINVAL), (".", errno.EISDIR),
        ("none", errno.ENOENT), ("small/x", errno.ENOTDIR), ("loop", errno.ELOOP), ("x" * 300, errno.ENAMETOOLONG),
        ("a\0b", errno.EINVAL),
    ):  # fmt: skip
        for read in (check_readable, read_small, lambda n: read_bytes(n, 9), lambda n: opened(n).__enter__()):
            with pytest.raises(Unreadable) as found:
                read(name)
            assert (found.value.errno, str(found.value) != "") == (why, True), name
    for name in ("huge", "small"):
        with pytest.raises(Unreadable, match="larger than 4 bytes"):
            read_bytes(name, 4)


@pytest.mark.parametrize("problem", [KeyboardInterrupt, MemoryError, OSError], ids=lambda p: p.__name__)
def test_a_file_is_whole_or_as_it_was(problem: type[BaseException], folder: Path) -> None:
    """Traces were left half beside their place after a signal, as compiled code and queries were."""
    path = folder / "file"
    write_whole(path, b"before")

    def half() -> None:
        with replacing(path) as new:
            new.write_bytes(b"ha")
            assert (path.read_bytes(), new.parent) == (b"before", folder)
            raise problem

    with pytest.raises(problem):
        half()
    assert path.read_bytes() == b"before"
    write_whole(path, b"after", mode=0o600, on_disk=True)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"after", 0o600)
    with pytest.raises(OSError, match="No such file"):
        write_whole(folder / "none" / "file", b"")
    assert list(folder.iterdir()) == [path]


def test_a_new_file_is_written_through_no_link(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else may write the folder, and foresee the name."""
    monkeypatch.setattr(os, "urandom", bytes)
    (folder / f".new-{bytes(8).hex()}").symlink_to("other")
    with pytest.raises(FileExistsError):
        write_whole(folder / "file", b"secret")
    assert not (folder / "other").exists()


@pytest.mark.slow(seconds=1)
def test_a_signal_as_a_trace_is_written_leaves_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: int) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(os, "fsync", interrupted)
    result = run(*TINY[:-1], "--variant", "small-quorum", "--trace", "t.json")
    assert (result.exit_code, result.stdout) == (3, "")
    assert not list(folder.iterdir())


def test_no_protocol_file_is_read_without_end(folder: Path) -> None:
    """Nor one that it imports; nor bytes that are no text."""
    os.mkfifo("fifo.py")
    Path("beside.py").symlink_to("/dev/zero")
    Path("importing.py").write_text("import beside\n")
    for name in ("fifo.py", "beside.py", "importing.py", "./loop.py", f"{'x' * 300}.py", "..", ".a", "a..b", "1.2"):
        Path("loop.py").unlink(missing_ok=True)
        Path("loop.py").symlink_to("loop.py")
        result = run("properties", "--protocol", name)
        assert (result.exit_code, result.stdout) == (2, ""), (name, result.output)
        assert SENTENCE.fullmatch(result.stderr), name


def test_a_package_that_fails_is_a_wrong_question(folder: Path) -> None:
    """Where its `__init__` fails, looking for the module inside fails again."""
    Path("failing").mkdir()
    Path("failing/__init__.py").write_text("raise ValueError(7)\n")
    Path("failing/inside.py").touch()
    result = run("properties", "--protocol", "failing.inside")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "ValueError: 7" in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("--nodes", "99"), ("--variant", "none"), ("--no-such-flag",), ("audit", "none"), ("quorums", "none"),
        ("plan", "none"), ("judge", "none"), ("lint", "none"), ("replay", "none"), ("graph", "--nodes", "0"),
        ("variants", "--protocol", "none"), ("zookeeper", "none"), ("simulate", "--nodes", "x"), ("check", "none"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_wrong_request_is_json_too(words: tuple[str, ...], folder: Path) -> None:
    result = run(*words, "--json")
    said = json.loads(result.stdout)
    assert result.exit_code == said["exit_code"] == 2
    assert said["error"].split()[0] in result.stderr


@pytest.mark.parametrize(
    "words",
    [(*TINY, "--junit"), (*TINY, "--html"), ("audit", "none", "--junit"), ("simulate", "--rounds", "9", "--events")],
    ids=lambda words: words[-1],
)
def test_no_socket_is_written_to(words: tuple[str, ...], folder: Path) -> None:
    """It was found out when all the work was done, and ended with 3."""
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("door")
    result = run(*words, "door")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "door: this is not a regular file" in result.stderr


def test_no_pipe_is_written_that_nobody_reads(folder: Path) -> None:
    os.mkfifo("fifo")
    for words in ((*TINY, "--junit", "fifo"), ("quorums", "none"), ("audit", "none", "--junit", "fifo")):
        assert run(*words).exit_code == 2
    assert "no process reads" in run(*TINY, "--junit", "fifo").stderr


FULL = """
import json, resource, sys
from click.testing import CliRunner
from checker.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
for words in json.loads(sys.argv[1]):
    ended = CliRunner().invoke(main, words)
    print(json.dumps([ended.exit_code, "cannot write made" in ended.stderr]))
"""


@pytest.mark.slow(seconds=3)
def test_a_disk_without_room_is_no_wrong_question(folder: Path) -> None:
    """`init` ended with 2. No byte can be written to any file here, as on a full disk."""
    run(*TINY[:-1], "--variant", "small-quorum", "--trace", "t.json")
    words = ("init made.py", "simulate --rounds 60 --dump made", "export t.json --to text --output made")
    asked = json.dumps([line.split() for line in words])
    done = subprocess.run([sys.executable, "-c", FULL, asked], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["[3, true]"] * 3, done.stderr
    assert not list(folder.glob("made*"))


# --- cut short -------------------------------------------------------------------------------------


def test_a_command_in_a_folder_that_is_gone_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for words in (("audit", "x"), ("check",), ("replay", "x.json"), ("--protocol", "a.b"), ("properties",)):
        result = run(*words)
        assert result.exit_code in (0, 2), (words, result.output)
        assert "internal error" not in result.stderr


@pytest.mark.parametrize(
    "words", [("refine", *TINY[:-1]), ("--live", *TINY), TINY, ("bmc", *TINY[:-1], "--depth", "2")]
)
def test_no_time_is_no_verdict_and_json_says_so(words: tuple[str, ...]) -> None:
    for flags in ((), ("--json",)):
        result = run(*words, "--time-limit", "0.000001", *flags)
        assert result.exit_code == 3, result.output
        if flags:
            assert json.loads(result.stdout).get("exit_code", 3) == 3


CUTS = (
    KeyboardInterrupt(), MemoryError(), ending.NoVerdict("no room"), KeyError("who"), OSError(errno.ENOSPC, "full"),
)  # fmt: skip


@pytest.mark.parametrize("problem", CUTS, ids=repr)
def test_whatever_cuts_a_command_short_json_says_it(problem: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(*_: object) -> None:
        raise problem

    monkeypatch.setattr("checker.requests.explore.explored", raising)
    monkeypatch.setattr("checker.requests.simulate.Simulate.answer", raising)
    monkeypatch.setattr("checker.zookeeper.requests.plan.PlanRequest.answer", raising)
    for words in (TINY, ("simulate",), ("plan",)):
        result = run(*words, "--json")
        assert result.exit_code == 3
        said = json.loads(result.stdout)
        assert said["exit_code"] == 3
        assert said["error"] in result.stderr
        assert run(*words).stdout == ""


def test_a_check_that_is_cancelled_ends_with_3(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it was: as it read the file, made the questions ready, compiled, asked, or wrote the answer."""
    head = "nodes = 2\ntxns = 1\ntimeouts = 0\ncrashes = 0\nlosses = 0\ndepth = 2\n"
    Path("zabcheck.toml").write_text(
        f'[defaults]\n{head}[[check]]\nname = "a"\nexpect = {{ verdict = "not reached", source = "here" }}\n'
    )

    def raising(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for place in (
        "checker.ci.configuration.read_matrix", "checker.ci.running.ready", "checker.ci.running.made",
        "checker.cli.main.make_context", "checker.requests.base.model.ModelRequest.configuration",
        "checker.ci.running.explored", "checker.ci.running.outcome_of", "checker.ci.result.Checked.save",
        "zabspec.model.Model.__init__",
    ):  # fmt: skip
        with monkeypatch.context() as patched:
            patched.setattr(place, raising)
            result = run("check", "--json")
        assert result.exit_code == 3, (place, result.output)
        assert json.loads(result.stdout)["exit_code"] == 3, place


def test_who_catches_wrong_questions_catches_no_end() -> None:
    assert not issubclass(ending.NoVerdict, click.ClickException)


def test_where_no_memory_is_left_no_library_is_called() -> None:
    """LLVM and z3 would end the process."""
    need_room(1)
    with pytest.raises(MemoryError):
        need_room(1 << 60)


# --- temporary files -------------------------------------------------------------------------------


def test_a_folder_is_gone_however_its_work_ends(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a second signal comes as it is removed."""
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    plain = shutil.rmtree
    handler = SignalHandler()
    handler.listen()

    def slowly(*given: Any, **named: Any) -> None:
        handler.last = float("-inf")  # as if it were a second later
        signal.raise_signal(signal.SIGTERM)
        plain(*given, **named)

    def work(problem: type[BaseException]) -> None:
        with temporary_folder("work") as made:
            (made / "more").mkdir()
            assert made.parent == folder
            raise problem

    monkeypatch.setattr(shutil, "rmtree", slowly)
    try:
        for problem in (KeyboardInterrupt, MemoryError, ValueError):
            with pytest.raises(KeyboardInterrupt):
                work(problem)
            assert not list(folder.iterdir()), problem
    finally:
        handler.leave()


# --- limits ----------------------------------------------------------------------------------------


def test_a_deadline_counts_what_was_spent_before_it() -> None:
    assert not Deadline().over()
    assert Deadline().left() == float("inf")
    assert 0 < Deadline(HANG, spent=HANG / 2).left() <= HANG / 2
    for spent in (HANG, 2 * HANG):
        late = Deadline(HANG, spent)
        assert (late.over(), late.left()) == (True, 0.0)


def test_work_that_no_clock_interrupts_is_ended(folder: Path) -> None:
    assert done_in_time(Path("done").touch, HANG)
    assert Path("done").exists()
    assert not done_in_time(signal.pause, 0.01)
    assert not done_in_time(Path("late").touch, 0)
    assert not Path("late").exists()
