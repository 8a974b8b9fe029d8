"""Signals, temporary files, whole files, deadlines and answers have one room each (docs/decisions/0014-rooms.md)."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
PACKAGES = ("zabcheck", "checker", "traces", "invariants", "zabspec")
# What is called, and the files that may.
ROOMS = {
    "signal.signal": {"zabspec/signals.py"},
    "signal.pthread_sigmask": {"zabspec/signals.py"},
    "signal.raise_signal": {"zabspec/signals.py"},
    "signal.getsignal": {"zabspec/signals.py", "traces/tables/spark/interrupts.py"},
    "tempfile.mkdtemp": {"zabspec/temporary.py"},
    "tempfile.gettempdir": {"zabspec/temporary.py"},
    "tempfile.TemporaryFile": {"zabspec/temporary.py"},
    "os.replace": {"zabspec/files.py"},
    "sys.exit": {"checker/commands/common.py", "zabcheck/__main__.py"},
    "os._exit": {"checker/ending.py", "zabspec/signals.py", "zabspec/limits.py", "traces/shorten/realise.py"},
}
CLOCKS = ("time.monotonic", "time.perf_counter", "time.time", "monotonic", "perf_counter")
# What is added to a clock there is no moment at which to give up: when states are counted next.
NO_DEADLINE = {"checker/explore/breadth_first.py"}


@cache
def trees() -> dict[str, ast.Module]:
    """The files in which something is called that has a room, parsed."""
    words = [name.rpartition(".")[2] for name in ROOMS] + ["monotonic", "perf_counter", "print", "echo", "write"]
    paths = [p for package in PACKAGES for p in sorted((TOP / package).rglob("*.py"))]
    texts = {p.relative_to(TOP).as_posix(): p.read_text() for p in paths}
    return {path: ast.parse(text) for path, text in texts.items() if any(f"{word}(" in text for word in words)}


@cache
def calls() -> dict[str, set[str]]:
    """Names that are called, each with the files."""
    found: dict[str, set[str]] = {}
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                found.setdefault(called(node), set()).add(path)
    return found


def called(node: ast.Call) -> str:
    """What is called, where that is a name, or one of a module's."""
    f = node.func
    if isinstance(f, ast.Attribute):
        return f"{f.value.id}.{f.attr}" if isinstance(f.value, ast.Name) else f"{ast.unparse(f.value)}.{f.attr}"
    return f.id if isinstance(f, ast.Name) else ""


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("name", ROOMS)
def test_what_has_a_room_is_called_there_alone(name: str) -> None:
    assert calls()[name] == ROOMS[name]


def test_no_deadline_is_a_sum() -> None:
    """What a moment is taken from again (`before + clock() - started`) is a span."""
    found = set()
    for path, tree in trees().items():
        nodes = list(ast.walk(tree))
        spans = [n.left for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub)]
        for node in nodes:
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and node not in spans:
                parts = (node.left, node.right)
                if any(isinstance(x, ast.Call) and called(x) in CLOCKS for x in parts):
                    found.add(path)
    assert found == NO_DEADLINE


def test_stdout_is_written_by_the_end_of_a_command_alone() -> None:
    """`print` and `echo` go to stderr."""
    loud = {
        path for path, tree in trees().items() for node in ast.walk(tree)
        if isinstance(node, ast.Call) and called(node) in ("print", "click.echo", "sys.stdout.write")
        and not any(k.arg in ("file", "err") for k in node.keywords)
    }  # fmt: skip
    assert loud == set()
