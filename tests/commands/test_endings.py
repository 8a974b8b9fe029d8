"""How commands end: what was not foreseen, what runs out, signals, and streams that are closed or full."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import click
import pytest
from click.testing import Result

from checker import ending
from checker.commands import common
from checker.zookeeper.record import Exploring, RowOutcome
from checker.zookeeper.rows import ROWS
from tests.commands.running import BROKEN, TINY, run
from tests.patience import HANG
from traces.events import recorded
from traces.record.reading import strict_json
from zabspec import signals
from zabspec.files import read_bytes
from zabspec.model import ConfigError, Configuration
from zabspec.protocols.registry import PROTOCOLS, Parts, Sizes

# as the installed script does it
SCRIPT = "import sys\nfrom checker.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    path = tmp_path_factory.mktemp("bin") / "zabcheck"
    path.write_text(SCRIPT)
    return [sys.executable, str(path)]


def fails(monkeypatch: pytest.MonkeyPatch, problem: BaseException) -> Result:
    """What a command comes to in the midst of which something is raised."""

    def raising(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr("checker.requests.explore.explored", raising)
    return run(*TINY)


# --- what was not foreseen -------------------------------------------------------------------------


def test_what_nobody_foresaw_is_exit_3_and_a_file_to_send(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 1 is the code of a violation, and Python's own for a traceback."""
    result = fails(monkeypatch, KeyError("who"))
    assert (result.exit_code, result.stdout) == (3, "")
    said = re.fullmatch(
        r"zabcheck: an internal error \(KeyError: 'who'\), there is no verdict; please report it with (\S+)\n",
        result.stderr,
    )
    assert said
    text = (folder / said[1]).read_text()
    assert f"command: zabcheck {' '.join(TINY)}" in text
    assert re.search(r"python: 3.*\n.*\nversions: zabcheck \S+, click \S+, llvmlite", text)
    assert "in raising\n    raise problem\nKeyError: 'who'" in text
    again = fails(monkeypatch, KeyError("who")).stderr
    assert again != result.stderr
    assert len(list(folder.iterdir())) == 2, "a report is never written over another"


def test_a_report_goes_where_temporary_files_do_if_it_cannot_be_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, there = tmp_path / "gone", tmp_path / "there"
    gone.mkdir()
    there.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setattr("tempfile.tempdir", str(there))
    result = fails(monkeypatch, AssertionError())
    assert result.exit_code == 3
    assert str(next(there.iterdir())) in result.stderr


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (MemoryError(), "out of memory"),
        (RuntimeError("can't start new thread"), "out of threads"),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), "Cannot allocate memory"),
        (ImportError("libz3.so: failed to map segment from shared object"), "out of memory"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "Too many open files"),
        (BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)), "Resource temporarily unavailable"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"),
    ],
)
def test_what_runs_out_is_exit_3_and_no_fault_of_ours(
    folder: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception, sentence: str
) -> None:
    result = fails(monkeypatch, problem)
    assert result.exit_code == 3
    assert result.stderr == f"zabcheck: {sentence}; there is no verdict\n"
    assert not list(folder.iterdir())


def test_what_runs_out_is_so_too_when_it_was_made_another_error_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """As llvmlite does with what the loader says."""
    problem = OSError("Could not find/load shared object file")
    problem.__context__ = OSError("failed to map segment from shared object")
    assert fails(monkeypatch, problem).stderr == "zabcheck: out of memory; there is no verdict\n"


NO_STACK = ("error return without exception set", "<method 'x'> returned NULL without setting an exception")


@pytest.mark.parametrize("said", NO_STACK)
def test_where_the_stack_of_python_finds_no_memory_that_is_out_of_memory(
    said: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.11 forgets to set MemoryError there. Without a limit it is an error of a library, and reported."""
    assert "an internal error (SystemError" in fails(monkeypatch, SystemError(said)).stderr
    monkeypatch.setattr("resource.getrlimit", lambda _: (1 << 30, 1 << 30))
    assert fails(monkeypatch, SystemError(said)).stderr == "zabcheck: out of memory; there is no verdict\n"
    assert "an internal error" in fails(monkeypatch, SystemError("bad argument")).stderr


def test_exit_code_3_is_no_answer_and_2_a_wrong_request(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fails(monkeypatch, click.FileError("here", "no such file")).exit_code == 2  # 1 by click's own reckoning
    assert fails(monkeypatch, ending.NoVerdict("here is no room")).exit_code == 3
    assert fails(monkeypatch, SystemExit(7)).exit_code == 3


@pytest.mark.parametrize("name", ["/", ".", ".."])
def test_minimise_refuses_a_folder(name: str) -> None:
    result = run("minimise", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "folder" in result.stderr or "Is a directory" in result.stderr


@pytest.mark.parametrize("where", ["--trace", "--variant", "--property", "--protocol"])
def test_what_is_no_text_is_a_wrong_question(where: str) -> None:
    for word in ("\udcff", "a\ud800b", "a\0b"):
        result = run(*TINY, where, word)
        assert (result.exit_code, result.stdout) == (2, ""), (where, word)
        assert result.stderr == f"zabcheck: {word!a} is not text\n"


def test_a_budget_of_the_least_number_is_a_given_one() -> None:
    for number in (-(2**31), -1, 16, 2**63):
        result = run(*TINY[:-1], str(number))
        assert (result.exit_code, result.stdout) == (2, ""), number
        assert f"--losses must be 0 to 15, not {number}" in result.stderr
        with pytest.raises(ConfigError, match="must be 0 to 15"):
            Configuration(losses=number)
    assert Configuration().losses == 1


def test_a_protocol_without_what_a_table_needs_is_refused_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A protocol that never says when a process is ready."""
    zab = PROTOCOLS["zab"]

    def parts(sizes: Sizes) -> Parts:
        made = zab.parts(sizes)
        return replace(made, fields=tuple(f for f in made.fields if f.name != "ready"))

    monkeypatch.setattr(recorded, "PROTOCOLS", {**PROTOCOLS, "zab": replace(zab, parts=parts)})
    result = run("simulate", "--protocol", "zab", "--table", "out")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "an event table needs a field ready or synced of every process, which zab does not have" in result.stderr
    assert not Path("out").exists()


# --- what is written -------------------------------------------------------------------------------


def test_what_a_terminal_obeys_is_written_out() -> None:
    assert ending.plain("a\x1b[2J\x9b\x7f\r\u202e\ud800b\n\tc—é") == "a\\x1b[2J\\x9b\\x7f\\r\\u202e\\ud800b\n\tc—é"
    assert ending.one_line("a\nb\tc") == "a\\nb\\tc"
    result = run("--variant", "\x1b[2J\nnew line")
    assert result.exit_code == 2
    assert "\x1b" not in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_sentence_that_quotes_much_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    ending.complain("x" * 10_000)
    assert len(capsys.readouterr().err) < 2100


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "'c' twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "-Infinity"),
        ('{"a": "\\ud800"}', "half a character"),
        ('{"a": "\\uDC00"}', "half a character"),
        ("[" * 100_000, "nested too deeply"),
        ("1" * 5000, "digits"),
        ('{"a": 1,}', "line 1"),
    ],
)
def test_json_that_has_more_than_one_meaning_has_none(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        strict_json(text.encode())


def test_json_is_utf_8() -> None:
    for coding in ("utf-16", "utf-32", "utf-8-sig", "latin-1"):
        with pytest.raises(ValueError, match="UTF-8"):
            strict_json('{"é": 1}'.encode(coding))
    assert strict_json(b'{"a": "\\ud83d\\ude00", "b": [1, 2]}') == {"a": "\U0001f600", "b": [1, 2]}


@pytest.mark.slow(seconds=1)
def test_every_reader_of_json_refuses_a_name_that_is_there_twice(folder: Path) -> None:
    run(*BROKEN, "--trace", "t.json")
    text = Path("t.json").read_text()
    twice = text.replace('"property":', '"property": "agreement",\n"property":', 1)
    assert json.loads(twice) == json.loads(text)
    Path("twice.json").write_text(twice)
    commands = [["export", "twice.json", "--to", "text"], ["replay", "twice.json"], ["minimise", "twice.json"]]
    commands += [["realise", "twice.json"], ["bmc", "--from", "twice.json", "--depth", "1"]]
    Path("levels").mkdir()
    Path("levels/level-00000.json").write_text('{"format": 1, "format": 1}')
    commands += [[*TINY, "--engine", "spark", "--checkpoint", "levels", "--resume"]]
    for words in commands:
        result = run(*words)
        assert (result.exit_code, result.stdout) == (2, ""), words
        assert "twice in one object" in result.stderr, words


def test_what_is_no_file_is_neither_waited_for_nor_read_without_end(folder: Path) -> None:
    os.mkfifo("pipe")
    with open("large", "wb") as file:
        file.truncate(1 << 40)
    for path in ("pipe", "/dev/zero", "large", "/", "none", "a/b", "x" * 5000):
        for words in (["export", path, "--to", "text"], ["quorums", path], ["replay", path]):
            result = run(*words)
            assert (result.exit_code, result.stdout) == (2, ""), words
    with pytest.raises(OSError, match="larger than 10 bytes"):
        read_bytes(Path("large"), 10)
    reading, writing = os.pipe()
    os.write(writing, b"1234")
    os.close(writing)
    assert read_bytes(Path(f"/dev/fd/{reading}"), 10) == b"1234", "as in <(zcat run.trace.json.gz)"
    os.close(reading)


def test_export_believes_no_file(folder: Path) -> None:
    """The trace of a variant that says it is of unmodified zab; one that says more was delivered than there is; one
    whose last step does not break what it says."""
    run(*BROKEN, "--trace", "t.json")
    true = json.loads(Path("t.json").read_text())
    assert run("export", "t.json", "--to", "text").exit_code == 0
    forged = json.loads(json.dumps(true))
    forged["configuration"]["variant"] = ""
    longer = json.loads(json.dumps(true))
    longer["steps"][5]["state"]["delivered"][0] = 1
    short = true | {"steps": true["steps"][:-1]}
    for name, content, step in (("forged", forged, "step"), ("longer", longer, "step 6"), ("short", short, "step")):
        Path(f"{name}.json").write_text(json.dumps(content))
        for form in ("text", "json", "itf"):
            result = run("export", f"{name}.json", "--to", form, "--output", "out")
            assert (result.exit_code, result.stdout) == (2, ""), (name, form)
            assert step in result.stderr
            assert not Path("out").exists()


def test_a_run_that_breaks_nothing_says_that_no_trace_was_saved(folder: Path) -> None:
    flags = ("simulate", "--rounds", "400", "--proposals", "2", "--check", "--trace", "t.json")
    result = run(*flags)
    assert result.exit_code == 0
    assert "nothing was saved in t.json" in result.stdout
    assert json.loads(run(*flags, "--json").stdout)["trace"] is None
    assert not list(folder.iterdir())


# --- signals ---------------------------------------------------------------------------------------


def hears(pid: int, number: int) -> bool:
    """Whether a process has begun to hear a signal; of SIGINT, which Python hears itself: the one heard next."""
    looked_for = signal.SIGTERM if number == signal.SIGINT else number
    caught = re.search(r"^SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return caught is not None and bool(int(caught[1], 16) >> (looked_for - 1) & 1)


def until_heard(pid: int, number: int) -> None:
    """Wait until a process hears a signal; one that has ended is not waited for."""
    while Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z" and not hears(pid, number):
        time.sleep(0.001)


def ended_by(
    command: list[str], number: int, look: Callable[[int, int], None], ignored: bool = False
) -> tuple[int, str, str]:
    """A command that gets a signal once somebody has looked at it; its exit code and what it wrote."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN if ignored else signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip
    try:
        look(process.pid, number)
        process.send_signal(number)
        out, err = process.communicate()
        return process.returncode, out, err
    finally:
        process.kill()


# A search that is sent a signal as its sixth level begins, whatever the machine does besides.
SENT_WITHIN = """
import os, sys
from checker.explore.interpret import Interpreter

plain = Interpreter.next_level

def next_level(self, level):
    if len(self.result.levels) == 6:
        os.kill(os.getpid(), {number})
    return plain(self, level)

Interpreter.next_level = next_level
from checker.cli import main
sys.exit(main({words!r}))
"""


@pytest.mark.slow(seconds=1)
def test_a_signal_keeps_what_ctrl_c_does() -> None:
    """Which are heard: below; SIGHUP while Spark is at work: test_judge_spark.py."""
    words = [*TINY, "--json", "--engine", "interpret", "--no-trace"]
    code = SENT_WITHIN.format(number=int(signal.SIGQUIT), words=words)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        # a shell's background job ignores SIGQUIT, and so would its children
        preexec_fn=lambda: signal.signal(signal.SIGQUIT, signal.SIG_DFL),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (3, "")
    report = json.loads(done.stdout)
    assert report["coverage"]["stopped"] == "interrupted"
    assert report["states"]["distinct"] > 5


@pytest.mark.slow(seconds=1)
def test_a_signal_while_the_command_is_loaded_is_as_clean_as_later(script: list[str]) -> None:
    """From the moment in which it hears signals, which is looked for; before, it is the interpreter that is ended."""

    for number in (signal.SIGINT, signal.SIGHUP):
        ended = ended_by([*script, "properties"], number, until_heard)
        assert ended == (3, "", "zabcheck: interrupted; there is no verdict\n"), number


TORN = """
import os, signal, sys, threading, time, z3
from checker.cli import main
from checker.proofs.requests.prove import Prove
from checker.proofs.symbolic.solver import Solver, interruptibly

def hard():
    solver = Solver(seconds=1800)
    x = z3.Ints(" ".join(f"x{k}" for k in range(40)))
    solver.add(sum(v * v * v for v in x) == 10**9 + 1, *(v > 0 for v in x), z3.Distinct(*x))
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
    return solver.check()

def proved(*_):
    held = [z3.And(*(z3.Int("y") > k for k in range(2000)))]
    interruptibly(hard)
    return held

Prove.answer = proved
main(["prove"])
"""


@pytest.mark.slow(seconds=3)
def test_work_that_z3_is_left_with_is_ended_where_it_stands() -> None:
    """Its terms given back by the main thread meanwhile, z3 tore its memory now and then: the process was aborted."""
    done = subprocess.run([sys.executable, "-c", TORN], capture_output=True, text=True, timeout=HANG, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "zabcheck: interrupted; there is no verdict\n")


@pytest.mark.slow(seconds=1)
def test_under_nohup_a_lost_terminal_ends_nothing(script: list[str]) -> None:
    code, out, _ = ended_by([*script, *TINY], signal.SIGHUP, lambda pid, _: until_heard(pid, signal.SIGTERM), True)
    assert code == 0
    assert out.startswith("holds: ")


CRASHES = {"SIGILL", "SIGTRAP", "SIGABRT", "SIGIOT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGSEGV", "SIGSYS"}
# What does not end a process, by its default or as Python begins; what others of a system never send; real-time ones.
OTHERS = {"SIGCHLD", "SIGCLD", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGWINCH"}
OTHERS |= {"SIGPIPE", "SIGXFSZ", "SIGRTMIN", "SIGRTMAX"}


@pytest.mark.parametrize("name", sorted(set(signal.Signals.__members__) - CRASHES - OTHERS))
def test_every_signal_that_ends_a_process_is_heard(name: str) -> None:
    """SIGVTALRM, SIGPROF, SIGIO, SIGPWR and SIGSTKFLT ended a command without a word, and with no exit code of its."""
    number = signal.Signals[name]
    before = signal.signal(number, signal.SIG_DFL)  # what started the tests may ignore it, as nohup does
    heard = signals.SignalHandler()
    heard.listen()
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    finally:
        heard.leave()
        signal.signal(number, before)


def test_several_signals_that_come_together_are_one() -> None:
    before = {number: signal.getsignal(number) for number in signals.ENDING}
    heard = signals.SignalHandler()
    heard.listen()
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)  # what systemd sends next
    finally:
        heard.leave()
    assert {number: signal.getsignal(number) for number in signals.ENDING} == before


class Dying:
    """Is interrupted as it dies."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def interrupted_in_a_destructor(dying: type) -> None:
    """Fails if the signal that comes in the destructor of a class is lost."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a Spark session of other tests has its own
    heard = signals.SignalHandler()
    heard.listen()
    made = [dying()]
    try:
        made.clear()
        with pytest.raises(KeyboardInterrupt):
            time.sleep(10)
    finally:
        heard.leave()
        signal.signal(signal.SIGINT, before)


def test_a_signal_in_a_destructor_is_not_lost() -> None:
    """Python drops what is raised there, and says so with a traceback."""
    interrupted_in_a_destructor(Dying)


class DyingLong:
    """Is interrupted as it dies, which takes long."""

    threads: ClassVar[list[int]] = []

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)
        for _ in range(50):
            time.sleep(0.001)
            self.threads.append(threading.active_count())


def test_a_signal_in_a_long_destructor_begins_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time that it came again began one more, in the midst of the one before."""
    monkeypatch.setattr(signals, "SOON", 0)
    threads = threading.active_count()
    interrupted_in_a_destructor(DyingLong)
    assert len(DyingLong.threads) == 50
    assert max(DyingLong.threads) <= threads + 1


def test_a_signal_as_a_command_ends_leaves_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(ending, "ended", ended)
    assert run(*TINY).exit_code == 3


def test_a_signal_that_came_with_one_answer_ends_the_next() -> None:
    heard = signals.SignalHandler()
    heard.listen()
    try:
        heard.settle()
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            heard.resume()
        assert not heard.settled
    finally:
        heard.leave()


def in_turn(monkeypatch: pytest.MonkeyPatch, *answers: ending.Answer | BaseException) -> Result:
    """What a command comes to that has these answers, one after another, with `--json`."""
    left = [*answers]

    def following(*_: object) -> ending.Answer:
        made = left.pop(0)
        if isinstance(made, BaseException):
            raise made
        return replace(made, then=following if left else None)

    monkeypatch.setattr(common.Commands, "invoke", lambda *_: following())
    return run("init", "--json")


def test_answers_in_turn_end_with_the_code_of_the_last(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A signal behind the first leaves it whole, and no object that contradicts it; a file that cannot be written is
    in the answer that it is of, and ends the command."""
    first = ending.Answer(0, content={"exit_code": 0, "look": 1}, indent=None)
    second = ending.Answer(1, content={"exit_code": 1, "look": 2}, indent=None)
    done = in_turn(monkeypatch, first, second)
    assert (done.exit_code, done.stdout) == (1, '{"exit_code": 0, "look": 1}\n{"exit_code": 1, "look": 2}\n')
    done = in_turn(monkeypatch, first, KeyboardInterrupt())
    assert (done.exit_code, done.stdout) == (3, '{"exit_code": 0, "look": 1}\n')
    assert done.stderr == "zabcheck: interrupted; there is no verdict\n"
    done = in_turn(monkeypatch, replace(first, files=[(Path("no/such.html"), b"")]), second)
    assert done.exit_code == 3
    assert [json.loads(line)["exit_code"] for line in done.stdout.splitlines()] == [3]


@pytest.mark.parametrize(
    ("words", "work"),
    [
        (("zookeeper", "ZK-3023", "ZK-4394"), "checker.zookeeper.requests.zookeeper.ZookeeperRequest.explored"),
        (("reenact", "ZK-4394", "--release", "3.9.2"), "checker.zookeeper.requests.reenact.ReenactRequest.answer"),
        (
            ("reenact", "--random", "2", "--release", "3.9.2"),
            "checker.zookeeper.requests.conformance.ConformanceRequest.answer",
        ),
    ],
)
def test_nothing_is_written_before_there_is_an_exit_code(
    words: tuple[str, ...], work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What happened so far was on stdout, below which came no verdict."""

    def begun(request: object, watch: Any = None) -> object:
        if watch is None:
            return rows()
        with watch.working() as show:
            show("step 3 is not seen")
            raise KeyboardInterrupt

    def rows() -> Iterator[RowOutcome]:
        yield RowOutcome(ROWS[0], Exploring(0, 1, 0.0, False, "none", None), Exploring(0, 1, 0.0, False, "none", None))
        raise KeyboardInterrupt

    monkeypatch.setattr(work, begun)
    done = run(*words)
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr == "zabcheck: interrupted; there is no verdict\n"


# --- streams ---------------------------------------------------------------------------------------


def shell(script: list[str], redirections: str, *arguments: str) -> int:
    words = " ".join(f"'{word}'" for word in (*script, *arguments))
    return subprocess.run(
        ["sh", "-c", f"exec {words} {redirections}"], check=False, stderr=subprocess.DEVNULL
    ).returncode


@pytest.mark.slow(seconds=1)
def test_streams_that_are_closed_or_full_change_no_exit_code(script: list[str], folder: Path) -> None:
    for redirections in ("2>/dev/full", "<&- 2>&-"):
        assert shell(script, f"{redirections} >out", *BROKEN, "--trace", "t.json") == 1, redirections
        assert Path("out").read_text().startswith("VIOLATED")
        json.loads(Path("t.json").read_text())
    assert shell(script, "2>/dev/full", "--variant", "nope") == 2
    assert shell(script, ">/dev/full 2>&-", *TINY) == 3
    assert shell(script, ">&- 2>&-", *TINY) == 2
