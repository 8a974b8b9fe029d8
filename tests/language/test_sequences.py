"""What texts of real servers need: membership of sequences, assignment between capacities, zxids that compare, several
choices in a step. Both engines and the symbolic world say the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from checker.proofs.symbolic.bmc import Bounds, check
from invariants import properties_of
from traces import build_trace
from traces.replay.replay import replay
from zabspec.language import LanguageError
from zabspec.model import Configuration, Model

TEXT = '''"""Numbers that are kept, copied and compared."""

from typing import Annotated

from zabcheck.language import *


class Stamp(RecordType, ordered=True):
    round: Annotated[int, Int(0, 3)]
    low: Annotated[int, Int(-1, 2)]


class State(Fields):
    long: Each[Node, Annotated[SeqOf[Annotated[int, Int(0, 3)]], AtMost(4)]] = stored("what is kept")
    short: Each[Node, Annotated[SeqOf[Annotated[int, Int(0, 3)]], AtMost(2)]] = stored("the same, if there is room")
    best: Each[Node, Stamp] = stored("the largest stamp so far")
    found: Each[Node, bool] = stored("2 was kept")


@action(budget="keeps")
def keep(s: State, p: Node) -> None:
    value = 1 + choose(s, 3)
    stamp = Stamp(round=value // 2, low=value - 2)
    if value not in s.long[p] and stamp > s.best[p]:
        s.best[p] = stamp
    if s.best[p] >= stamp:
        s.long[p].append(value)
    s.found[p] = 2 in s.long[p]


@action(budget="copies")
def copy(s: State, p: Node) -> None:
    s.short[p] = s.long[p]
    s.long[p] = s.short[p]


def kept(s: State) -> bool:
    """Two are kept."""
    return len(s.long[0]) == 2


@safety(witness=kept)
def order(s: State) -> bool:
    """The largest stamp is that of the largest number."""
    for p in range(s.NODES):
        for v in range(1, 4):
            if v in s.long[p] and not Stamp(round=v // 2, low=v - 2) <= s.best[p]:
                return False
            if (2 in s.long[p]) != s.found[p]:
                return False
    return True


@safety(witness=kept)
def never_all(s: State) -> bool:
    """The short one never has two."""
    return len(s.short[0]) < 2


PROTOCOL = declare(__name__, budgets={"keeps": 2, "copies": 1}, nodes=1)
'''


def explored(tmp_path: Path, text: str = TEXT, **more: object) -> tuple[Exploration, Model]:
    path = tmp_path / "numbers.py"
    path.write_text(text, encoding="utf-8")
    model = Model(Configuration(str(path), **more))  # type: ignore[arg-type]
    judged = properties_of(str(path))
    fast = Explorer(Compiled.of(model, judged, False)[0], 1).run(Limits(), True)
    slow = Interpreter(model, judged, False).run(Limits(), True)
    assert (fast.levels, fast.generated, bool(fast.error)) == (slow.levels, slow.generated, bool(slow.error))
    assert {n: v.depth for n, v in fast.violations.items()} == {n: v.depth for n, v in slow.violations.items()}
    return fast, model


def test_sequences_and_ordered_records_in_every_world(tmp_path: Path) -> None:
    found, model = explored(tmp_path)
    assert found.complete
    assert not found.error
    assert {n: v.depth for n, v in found.violations.items()} == {"never-all": 3}
    judged = properties_of(model.configuration.protocol)
    assert [p.name for p in check(model, judged, Bounds(3, 1, 60.0, None, 0)).broken] == ["never-all"]
    assert not check(model, judged, Bounds(2, 1, 60.0, None, 0)).broken


def test_a_sequence_that_has_no_room_is_an_error_of_the_range(tmp_path: Path) -> None:
    found, _ = explored(tmp_path, budgets="keeps=3")
    assert "short would hold more than 2" in found.error


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("ordered=True", "ordered=False", "takes integers, or records that are declared ordered"),
        ("2 in s.long[p]\n", "2 in s.best[p]\n", "`in` takes a set, a sequence"),
    ],
)
def test_what_is_not_there_is_refused_with_its_line(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(LanguageError, match=rf"numbers.py:\d+: .*{problem}"):
        explored(tmp_path, TEXT.replace(old, new, 1))


CHOICES = '''"""Several choices in a step, of which later ones depend on earlier ones."""

from typing import Annotated

from zabcheck.language import *


class State(Fields):
    got: Each[Node, Annotated[int, Int(0, 99)]] = stored("the choices, as digits")
    done: Each[Node, bool] = stored("once")


def not_yet(s: State, p: Node) -> bool:
    return not s.done[p]


@action(when=not_yet)
def take(s: State, p: Node) -> None:
    first = choose(s, 2)
    s.got[p] = 10 * (1 + first)
    if first == 1:
        s.got[p] += choose(s, 3)
        if s.got[p] == 21:
            s.got[p] += 5 * choose(s, 2)
    s.done[p] = True


def some(s: State) -> bool:
    """It was done."""
    return s.done[0]


@safety(witness=some)
def in_range(s: State) -> bool:
    """Nothing else is chosen."""
    return s.got[0] < 90


PROTOCOL = declare(__name__, nodes=1)
'''


def test_a_step_may_choose_several_times(tmp_path: Path) -> None:
    """Every combination there is, and no other."""
    found, model = explored(tmp_path, CHOICES)
    assert found.complete
    names = model.program.python
    reached = set()
    for choice in range(12):
        s = model.program.initial()
        out = [0] * 9
        names["enabled"](s, out)
        names["apply"](s, out[1] | choice << 32)
        if choice < s.choices:
            reached.add(s.got[0])
    assert reached == {10, 20, 21, 22, 26}
    assert found.levels == [1, len(reached)]


def test_a_process_may_start_in_several_ways(tmp_path: Path) -> None:
    text = CHOICES.replace(
        "def take(", "def on_start(s: State, p: Node) -> None:\n    s.got[p] = choose(s, 2)\n\n\ndef take("
    )
    text = text.replace("@action(when=not_yet)\ndef on_start", "def on_start")
    assert explored(tmp_path, text)[0].levels[0] == 2


ELECTED = '''"""An election that is not modelled: a quorum is drawn, and the latest of it leads."""

from typing import Annotated

from zabcheck.language import *


class Stamp(RecordType, ordered=True):
    round: Annotated[int, Int(0, 2)]
    count: Annotated[int, Int(0, 1)]


class State(Fields):
    stamp: Each[Node, Stamp] = stored("its last")
    leads: Each[Node, bool] = volatile("it was elected")
    placed: Each[Node, bool] = stored("where it begins was chosen")
    terms: Annotated[int, Range(0, lambda size: size.terms)] = environment("elections so far")


def unplaced(s: State) -> bool:
    return not s.placed[0]


@environment_step(when=unplaced, everywhere=True)
def place(s: State) -> None:
    for p in range(s.NODES):
        s.stamp[p] = Stamp(round=choose(s, 2), count=choose(s, 2))
        s.placed[p] = True


def may_elect(s: State) -> bool:
    return s.placed[0]


@environment_step(when=may_elect, budget="terms", everywhere=True)
def elect(s: State) -> None:
    left_out = choose(s, s.NODES + 1)
    best = NOBODY
    for p in range(s.NODES):
        s.leads[p] = False
        if p != left_out:
            if best == NOBODY:
                best = p
            elif s.stamp[best] < s.stamp[p]:
                best = p
    s.leads[best] = True
    s.terms += 1


def led(s: State) -> bool:
    """Somebody leads."""
    return s.leads[0] or s.leads[1] or s.leads[2]


@safety(witness=led)
def late_enough(s: State) -> bool:
    """Who leads is behind one other at most."""
    for p in range(s.NODES):
        if s.leads[p]:
            ahead = 0
            for q in range(s.NODES):
                if s.stamp[p] < s.stamp[q]:
                    ahead += 1
            if ahead > 1:
                return False
    return True


@safety(witness=led)
def never_behind(s: State) -> bool:
    """Nobody is ahead of who leads."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if s.leads[p] and s.stamp[p] < s.stamp[q]:
                return False
    return True


PROTOCOL = declare(__name__, budgets={"terms": 1}, nodes=3)
'''


def test_the_environment_may_place_and_elect(tmp_path: Path) -> None:
    """64 placings, and of each three processes the latest of any two or three."""
    found, model = explored(tmp_path, ELECTED)
    assert found.complete
    assert found.levels[:2] == [1, 64]
    assert {n: v.depth for n, v in found.violations.items()} == {"never-behind": 2}
    broken = found.violations["never-behind"]
    trace = build_trace(model, broken.property, broken.schedule)
    assert replay(trace).steps == trace.steps


def test_a_disk_is_written_by_its_process_alone(tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match="stamp is on a disk, which only its process writes"):
        explored(tmp_path, ELECTED.replace("Stamp] = stored(", "Stamp] = on_disk("))
