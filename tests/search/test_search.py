"""Random walks: what they find is true, and is found again; what they do not find is no verdict."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from checker.search import kernel
from checker.search import search as search_module
from checker.search.code import SearchCode
from checker.search.search import RandomSearch, Walked, signed
from invariants import properties_of
from invariants.binding import bound
from invariants.registry import STEP
from tests.patience import HANG, ticking
from traces import read_trace, verify
from traces.replay.replay import replay
from zabspec.limits import Deadline
from zabspec.model import Configuration, Model

LARGE = {"txns": 3, "timeouts": 3, "crashes": 2, "losses": 2}


@cache
def code(variant: str = "", txns: int = 3) -> SearchCode:
    judged = [p for p in properties_of("zab") if p.default and p.judges("zab")]
    return SearchCode(Model(Configuration(**{**LARGE, "txns": txns}, variant=variant)), judged)


def asked(seed: int, variant: str = "", threads: int = 1, most: int = 400) -> RandomSearch:
    return RandomSearch(code(variant), seed, threads, most)


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("variant", ["no-promise", "epoch-then-history"])
def test_what_a_walk_breaks_is_broken_in_the_interpreted_world(variant: str) -> None:
    """The hard variants, with a seed that nobody chose (benchmarks/search.py: all of them, 20 seeds)."""
    found = asked(20111, variant).run(HANG)
    assert found.broken
    for broken in found.broken.values():
        names, s = bound(code(variant).model), code(variant).model.program.initial()
        before = s.copy()
        for word in broken.schedule:
            before = s.copy()
            possible = [0] * (code(variant).model.most_steps + 1)
            names["enabled"](s, possible)
            assert word & 0xFFFFFFFF in possible[1 : possible[0] + 1]
            names["apply"](s, word)
        holds = names[broken.property.holds.__name__]
        assert not (holds(before, s, s) if broken.property.of == STEP else holds(s))


@pytest.mark.slow(seconds=9)
def test_a_seed_finds_the_same_walk_on_any_number_of_threads() -> None:
    one, two = (asked(5, "join-commit-all", threads).run(HANG).broken for threads in (1, 2))
    assert min(b.walk for b in one.values()) == min(b.walk for b in two.values())
    first = min(one.values(), key=lambda b: b.walk)
    assert two[first.property.name].schedule == first.schedule
    assert asked(6, "join-commit-all").run(HANG).broken != one


@pytest.mark.slow(seconds=2)
def test_walks_visit_what_an_exploration_does_and_judge_it_alike() -> None:
    """A walk takes steps that the explorer has there, and its counts are those of its steps."""
    search = asked(3, most=60)
    slot = search.slots[0]
    search.deadline = float("inf")
    block = search.next_block()
    search.ask(slot, 0, 1)
    assert search.code.random_walks(block.start.state, slot.work, slot.asked, slot.path, slot.answer) == 1
    taken = slot.answer[kernel.W_TAKEN]
    names, s = bound(search.code.model), search.code.model.program.initial()
    entered = [0] * 64
    for word in slot.path[:taken]:
        possible = dict(search.code.next_states(s.key()))
        names["apply"](s, word)
        assert possible[word][: search.code.layout.size] == s.key()
        for k in range(64):
            entered[k] += s.steps >> k & 1
    assert entered == list(slot.answer[kernel.W_STEPS : kernel.W_STEPS + 64])
    assert sum(slot.answer[kernel.W_EVENTS : kernel.W_EVENTS + 64]) == taken > 10


def test_what_holds_is_not_said_to_hold() -> None:
    search = asked(1)

    def tell(so_far: Walked) -> None:
        if so_far.walks > 100 and len(so_far.met) > 15:
            search.deadline = Deadline(0.0)  # its time is over

    found = search.run(HANG, tell=tell)
    assert not found.broken
    assert found.walks > 100
    assert found.stopped == f"--time-limit {HANG:g} s reached"
    assert len(found.met) > 15


def test_seeds_are_words() -> None:
    assert signed(2**63) == -(2**63)
    assert signed(2**64 + 5) == 5


# --- the command ---------------------------------------------------------------------------------------


def searched(*words: str) -> Result:
    return CliRunner().invoke(main, [*words], prog_name="zabcheck")


QUESTION = [f"--{name}={n}" for name, n in LARGE.items()]


@pytest.mark.slow(seconds=3)
def test_the_command_writes_a_minimised_trace_that_replays(tmp_path: Path) -> None:
    file = tmp_path / "found.trace.json"
    words = [
        "--search",
        "--variant",
        "join-commit-all",
        *QUESTION,
        "--seed",
        "7",
        "--trace",
        str(file),
        "--json",
    ]
    answer = searched(*words)
    assert answer.exit_code == 1
    said = json.loads(answer.stdout)
    (violation, *_) = said["violations"]
    trace = read_trace(file)
    verify(trace)
    replay(trace)
    assert violation["property"] == trace.property_name
    assert violation["steps"] == len(trace.steps) <= violation["walked"]
    assert violation["minimised"]
    assert said["seed"] == 7


def test_the_command_ends_with_3_where_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    ticking(monkeypatch, search_module, HANG / 50)
    answer = searched("--search", *QUESTION, "--time-limit", str(HANG), "--seed", "0")
    assert answer.exit_code == 3
    assert "no violation found, but only some runs were walked" in " ".join(answer.stdout.split())
    assert "holds" not in answer.stdout
    assert re.search(r"\nsecond opinion  +\d", answer.stdout)  # a name and its value are apart


def test_a_model_that_is_not_ready_in_time_is_no_verdict() -> None:
    answer = searched("--search", "--nodes", "3", "--txns", "4", "--time-limit", "0.001")
    assert answer.exit_code == 3
    assert "before the model was ready" in " ".join(answer.stdout.split())
