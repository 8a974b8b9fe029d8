"""Limits are kept: as many states as were asked for, the time with the compiling in it, memory counted before it is
asked for; and without a limit on memory the machine's own, said in words."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from checker.explore import memory
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.memory import HUGE, Block, Budget, LimitReached, machine_bytes
from checker.explore.result import Limits
from invariants import PROPERTIES
from tests.patience import HANG
from zabspec.limits import done_in_time
from zabspec.model import Configuration, Model

ONE = PROPERTIES[:1]
MANY = Configuration(nodes=3, txns=2, timeouts=1, crashes=1, losses=0)


@pytest.mark.parametrize("most", [1, 17, 2001])
def test_as_many_states_as_were_asked_for(most: int) -> None:
    """Never fewer, and at most one more in each group of fingerprints; the same on any number of threads."""
    code = Compiled(Model(MANY), ONE, True)
    one, two = (Explorer(code, threads).run(Limits(max_states=most)) for threads in (1, 2))
    assert one.levels == two.levels
    assert one.raw_levels == two.raw_levels
    assert most <= one.distinct < most + 16
    assert one.stopped == f"--max-states {most} reached"
    whole = Explorer(code, 1).run(Limits(depth=one.expanded_levels))
    assert one.levels[: one.expanded_levels + 1] == whole.levels


def test_as_many_states_in_plain_python() -> None:
    model = Model(Configuration(nodes=2, txns=1, timeouts=1, crashes=0, losses=0))
    for most in (1, 50, 101):
        r = Interpreter(model, ONE, False).run(Limits(max_states=most))
        assert r.distinct == max(most, 2)
        assert r.stopped == f"--max-states {most} reached"


def test_the_time_that_making_ready_took_counts() -> None:
    code = Compiled(Model(MANY), ONE, True)
    for engine in (Explorer(code, 1), Interpreter(Model(MANY), ONE, False)):
        began = time.process_time()
        r = engine.run(Limits(seconds=HANG, spent=HANG - 0.1))
        assert time.process_time() - began < 10
        assert r.stopped == f"--time-limit {HANG:g} s reached"


def test_work_is_ended_when_its_time_is_over(tmp_path: Path) -> None:
    assert not done_in_time(lambda: time.sleep(HANG), 0.2)
    assert done_in_time(lambda: (tmp_path / "done").write_text("yes"), HANG)
    assert (tmp_path / "done").read_text() == "yes"
    assert done_in_time(lambda: 1 // 0, HANG), "what goes wrong is found by whoever asks next"


def test_large_pages_are_whole_and_counted() -> None:
    """From half a page on, and what they take is what is counted."""
    budget = Budget(1 << 40)
    before = budget.spent
    blocks = [Block(size, huge=True, budget=budget) for size in ((HUGE // 2) - 1, HUGE // 2, HUGE + 1)]
    assert [block.size for block in blocks] == [HUGE // 2 - 1, HUGE, 2 * HUGE]
    assert budget.spent - before == sum(block.size for block in blocks)
    blocks[2].map[2 * HUGE - 1] = 7
    assert blocks[2].bytes(2 * HUGE - 1, 1) == b"\7"


def test_memory_is_counted_before_it_is_used() -> None:
    budget = Budget(memory.resident_bytes() + (8 << 20))
    held = [Block(3 << 20, budget=budget), Block(3 << 20, budget=budget)]
    with pytest.raises(LimitReached, match=r"--memory-limit \d+ MiB reached"):
        Block(3 << 20, budget=budget)
    held.pop()
    Block(3 << 20, budget=budget)


LIMITED = """
import resource, sys
from checker.explore.compiled import Compiled
from checker.explore.breadth_first import Explorer
from checker.explore.result import Limits
from invariants import PROPERTIES
from zabspec.model import Configuration, Model
code = Compiled(Model(Configuration(nodes=3, txns=2, timeouts=1, crashes=1, losses=0)), PROPERTIES[:1], True)
limit = int(sys.argv[1]) << 20
r = Explorer(code, 2).run(Limits(memory=limit or None, depth=None if limit else 3))
print(r.stopped, "|", r.memory >> 20, "|", r.distinct)
"""


def limited(mebibytes: int) -> tuple[str, int, int]:
    """Why an exploration in a process of its own ended, the most memory it had, and how many states it found."""
    said = subprocess.run(
        [sys.executable, "-c", LIMITED, str(mebibytes)], capture_output=True, text=True, check=True
    ).stdout.split("|")
    return said[0].strip(), int(said[1]), int(said[2])


@pytest.mark.slow(seconds=1)
def test_no_more_memory_than_the_limit() -> None:
    """The peak is at most 2 % above the limit, or above what a tiny run has."""
    _, floor, _ = limited(0)
    states = []
    for more in (0, 75):  # what the first blocks take differs by more than the small ones
        stopped, peak, found = limited(floor + more)
        assert stopped == f"--memory-limit {floor + more} MiB reached"
        assert peak <= 1.02 * (floor + more)
        states.append(found)
    assert states == sorted(states)
    assert states[-1] > states[0]


def system(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_what_the_machine_has(tmp_path: Path) -> None:
    """The least of what the machine and its control groups leave, of either version, and of what the process has."""
    gib = 1 << 30
    machine = {"proc__meminfo": f"MemTotal: {16 << 20} kB\nMemAvailable: {8 << 20} kB\n"}
    plain = system(tmp_path / "a", **machine)
    assert machine_bytes(plain, gib) == int(9 * gib * 0.95)
    two = system(
        tmp_path / "b", **machine, proc__self__cgroup="0::/jobs/one\n",
        sys__fs__cgroup__jobs__memory_DOT_max=str(4 * gib), sys__fs__cgroup__jobs__memory_DOT_current=str(3 * gib),
        sys__fs__cgroup__jobs__memory_DOT_stat=f"anon {gib}\ninactive_file {gib}\nactive_file {gib // 2}\n",
        sys__fs__cgroup__jobs__one__memory_DOT_max="max", sys__fs__cgroup__jobs__one__memory_DOT_current="0",
    )  # fmt: skip
    assert machine_bytes(two, gib) == int((1 + 1 + 1.5) * gib * 0.95)
    one = system(
        tmp_path / "c", **machine, proc__self__cgroup="5:cpu,memory:/box\n",
        sys__fs__cgroup__memory__box__memory_DOT_limit_in_bytes=str(2 * gib),
        sys__fs__cgroup__memory__box__memory_DOT_usage_in_bytes=str(gib),
    )  # fmt: skip
    assert machine_bytes(one, gib) == int(2 * gib * 0.95)
    assert machine_bytes(system(tmp_path / "d", proc__version="none"), gib) > 0


@pytest.mark.slow(seconds=2)
def test_the_machines_limit_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_bytes", lambda **given: memory.resident_bytes() + (1 << 20))
    code = Compiled(Model(MANY), ONE, True)
    for r in (Explorer(code, 1).run(Limits()), Interpreter(Model(MANY), ONE, False).run(Limits(depth=12))):
        assert r.stopped.endswith("GiB (what this machine has, less a margin) reached")
