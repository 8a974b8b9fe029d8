"""Opinions of a refinement check, a liveness check, random walks and bmc, as they are and faulty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from checker.explore.compiled import Compiled
from checker.live import fair_runs
from checker.live.code import LiveCode
from checker.proofs.requests.bmc import Bmc
from checker.proofs.requests.refine import Refine
from checker.requests.live import LiveRequest
from checker.requests.search import SearchRequest
from zabspec.second.world import World

pytestmark = pytest.mark.usefixtures("usual_opinion")

REFINED = Refine(nodes=2, txns=1)
PROGRESS = LiveRequest("zab", nodes=2, txns=1, budgets={"timeouts": 1, "crashes": 1, "losses": 0})


def refined() -> Any:
    return REFINED.answer()


def lively() -> Any:
    return PROGRESS.answer()


def test_the_interpreter_agrees() -> None:
    """Of a liveness check: below."""
    said = refined()
    assert said.exit_code == 0
    assert said.as_json()["second_opinion"]["steps"] > 50
    assert "second opinion" in dict(said.figures())


# --- planted faults ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plant:
    """A fault of machine code: what is replaced, by what, given the true one, and the checks that it concerns."""

    owner: Any
    name: str
    other: Callable[[Any], Any]
    answers: tuple[Callable[[], Any], ...]


def one_fewer(true: Any) -> Any:
    return lambda self, data, *more: true(self, data, *more)[:-1]


def last_byte(true: Any) -> Any:
    """Every effect but the first has another byte somewhere in the state."""

    def steps(self: Any, data: bytes, *more: Any) -> Any:
        first, *rest = true(self, data, *more) or [None]
        at = next(at for _, at in self.layout.elements("delivered"))
        changed = [(word, after[:at] + bytes([after[at] ^ 1]) + after[at + 1 :]) for word, after in rest]
        return [*([first] if first else []), *changed]

    return steps


def other_word(true: Any) -> Any:
    return lambda self, data, *more: [(word ^ 1 << 16, after) for word, after in true(self, data, *more)]


PLANTS: dict[str, Plant] = {
    "a step is missing": Plant(Compiled, "next_states", one_fewer, (lively,)),
    "a step has another effect": Plant(Compiled, "next_states", last_byte, (refined,)),
    "a step is another process's": Plant(Compiled, "next_states", other_word, (refined,)),
    "a step of the stable phase is missing": Plant(LiveCode, "stable_steps", one_fewer, (lively,)),
    "a step of the stable phase has another effect": Plant(LiveCode, "stable_steps", last_byte, (lively,)),
    "nobody waits": Plant(LiveCode, "waiting", lambda _: lambda *_: 0, (lively,)),
    "everybody waits": Plant(LiveCode, "waiting", lambda _: lambda *_: (1 << 62) - 1, (lively,)),
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_planted_faults_are_met(monkeypatch: pytest.MonkeyPatch, plant: Plant) -> None:
    monkeypatch.setattr(plant.owner, plant.name, plant.other(getattr(plant.owner, plant.name)))
    for answered in plant.answers:
        said = answered()
        assert said.exit_code == 3
        assert "no verdict" in said.sentence
        assert "the interpreter contradicts the verdict" in said.sentence


@pytest.mark.parametrize(
    "request_of",
    [PROGRESS, SearchRequest(variant="small-quorum", nodes=2, txns=1, seed=1), Bmc(nodes=2, txns=1, depth=2)],
)
def test_the_second_semantics_contradicts(monkeypatch: pytest.MonkeyPatch, request_of: Any) -> None:
    assert "agreed" in " ".join(request_of.answer().text().split())
    true = World.steps
    monkeypatch.setattr(World, "steps", lambda self, state: [s for s in true(self, state) if s.label != "oracle"])
    answer = request_of.answer()
    assert answer.exit_code == 3
    assert answer.sentence.startswith("no verdict: ")
    assert "the second semantics contradicts the verdict" in answer.sentence


FAIR = Path("examples/exercises/fair.py").read_text(encoding="utf-8")
LATCH = "s.at[p] == WAITING and not s.latched"


@pytest.mark.parametrize(
    ("owner", "name", "other"),
    [(fair_runs, "is_strong", lambda *_: True), (fair_runs.FairRuns, "of_process", lambda *_: iter(()))],
)
def test_fair_runs_are_searched_by_the_second_semantics(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, owner: Any, name: str, other: Any
) -> None:
    """A thread waits forever for a latch; if entering is strongly fair, none does."""
    path = tmp_path / "fair.py"
    path.write_text(FAIR.replace(LATCH, f'{LATCH}, fair="strong"'), encoding="utf-8")
    assert LiveRequest(str(path)).answer().exit_code == 0
    path.write_text(FAIR, encoding="utf-8")
    monkeypatch.setattr(owner, name, other)
    answer = LiveRequest(str(path)).answer()
    assert answer.exit_code == 3
    assert "the second semantics contradicts the verdict: a fair run starves a process" in answer.sentence
