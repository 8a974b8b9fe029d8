"""Disks over connections: counts against the second semantics, in every engine; runs replayed; mutants."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from checker.proofs.symbolic.transition import Transition
from invariants import properties_of
from invariants.binding import full_namespace
from tests.models import compiled, import_text
from tests.second.reference import explore
from tests.worlds.random_runs import random_run
from traces import Runner, build_trace, to_text, verify
from traces.record.file import read_trace, write_trace
from traces.record.trace import StepWord
from traces.replay.replay import replay
from traces.shorten.minimise import minimise
from zabspec.model import ConfigError, Configuration, Model
from zabspec.proofs.symbolic_memory import bytes_of, values_of
from zabspec.simulator.run import Fault, Run, play
from zabspec.worlds import connections, crash_within, disks, left_open, over_connections, storage

TEXT = Path(__file__).parents[1] / "own" / "texts" / "ledger.py"
USUAL = {"writes": 1, "elections": 1, "crashes": 0, "losses": 0, "power_losses": 1}


def asked(nodes: int = 2, variant: str = "", start: str = "", network: str = "", **budgets: int) -> Configuration:
    own = ",".join(f"{name}={budgets.pop(name)}" for name in ("writes", "elections") if name in budgets)
    return Configuration(
        str(TEXT), variant, nodes=nodes, network=network, budgets=own, start=start, **budgets,  # type: ignore[arg-type]
    )  # fmt: skip


def explored(c: Configuration, symmetry: bool = False) -> Exploration:
    code, why = Compiled.of(Model(c), properties_of(str(TEXT)), symmetry)
    assert not why
    found = Explorer(code, 1).run(Limits(), True)
    assert found.complete
    assert not found.error
    return found


QUESTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"variant": "hasty"},
    {"writes": 2, "variant": "idle"},
    {"crashes": 1, "losses": 1, "variant": "hasty"},
)


def second(variant: str = "", **given: int) -> tuple[list[int], dict[str, int]]:
    """What the second semantics finds: the states of each level, and the depth of each violation."""
    found = explore(
        {"protocol": str(TEXT), "variant": variant, "nodes": 2, "network": "fifo", "budgets": USUAL | given}
    )
    levels = Counter(found["depth"])
    broken = {name: v["depth"] for name, v in found["verdicts"].items() if v["result"] == "violated"}
    return [levels[d] for d in sorted(levels)], broken


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_every_level_has_as_many_states_as_in_the_second_semantics(question: dict[str, Any]) -> None:
    found = explored(asked(**(USUAL | question)))
    levels, broken = second(**question)
    assert found.levels == levels
    assert {n: v.depth for n, v in found.violations.items()} == broken


def counted(found: Exploration) -> tuple[object, ...]:
    depths = {name: v.depth for name, v in found.violations.items()}
    return found.levels, found.raw_levels, found.generated, found.event_counts, depths, found.witnessed


@pytest.mark.slow(seconds=2)
def test_renamings_count_once_where_the_text_tells_no_processes_apart() -> None:
    """It does where a process sends in a loop: it may fail when some have the message, the lower ones first."""
    c = asked(variant="quiet")
    orbits = explored(c, True)
    assert orbits.raw_levels == explored(c).levels
    assert sum(orbits.levels) < sum(orbits.raw_levels)
    assert counted(orbits) == counted(Interpreter(Model(c), properties_of(str(TEXT)), True).run(Limits(), True))
    assert "reads failed" in Compiled.of(Model(asked()), properties_of(str(TEXT)), True)[1]


def test_a_crash_loses_no_unforced_write_and_a_power_loss_no_forced_one() -> None:
    assert not explored(asked(variant="hasty", power_losses=0, crashes=2)).violations
    assert not explored(asked(power_losses=2, elections=2)).violations


def test_power_is_lost_with_every_prefix_of_what_is_not_forced() -> None:
    runner = Runner(Model(asked(variant="idle", writes=2)))
    runner.state.unforced[1] = 2
    lost = [(word >> 16 & 255, word & 255) for word in runner.possible() if word >> 24 == 24]
    assert lost == [(0, 0), (1, 0), (1, 1), (1, 2)]


def test_what_a_start_has_on_disks_was_forced() -> None:
    """What was there before the run cannot be lost with power."""
    found = explored(asked(start="full"))
    assert not found.violations
    assert "promises-are-kept" in found.witnessed


@pytest.mark.slow(seconds=3)
def test_a_counterexample_reports_where_its_step_broke_off() -> None:
    c = asked(3, "hasty", losses=1)
    (broken,) = explored(c).violations.values()
    trace = build_trace(Model(c), broken.property, broken.schedule)
    verify(trace)
    assert replay(trace).steps == trace.steps
    text = to_text(trace)
    assert "power loss inside a step (receive)" in text or "power loss inside a step (on-write)" in text, text
    short = minimise(trace).trace
    assert (short.configuration.nodes, short.configuration.losses, short.configuration.crashes) == (2, 0, 0)
    assert len(short.steps) == len(trace.steps)


@pytest.mark.slow(seconds=3)
def test_random_runs_are_alike_in_both_worlds_and_replayed(tmp_path: Path) -> None:
    c = asked(3, network="fifo", writes=2, elections=3, crashes=3, power_losses=3, losses=2)
    code = compiled(c, False, properties_of(str(TEXT)))
    seen: set[str] = set()
    told = ""

    def of_a_new_kind(chance: random.Random, words: Sequence[int]) -> int:
        new = [word for word in words if called(word) not in seen and chance.random() < 0.3]
        whole = [word for word in words if word >> 24 & 255 not in FAILING] or words
        word = chance.choice(new or whole)
        seen.add(called(word))
        return word

    for seed in range(4):
        trace = random_run(code, seed, of_a_new_kind, lambda taken: taken == 5)
        write_trace(trace, tmp_path / "t.json")
        assert read_trace(tmp_path / "t.json").steps == trace.steps
        told += to_text(trace)
    assert re.search(r"p\d: crash inside a step \(elected\), of p\d by p\d", told)
    assert re.search(r"p\d: power loss inside a step \(receive\) on WRITE from p\d", told)
    assert seen >= {"power_loss", "crash_electing inside elect", "power_loss_electing inside elect"}
    assert {name.rpartition(" ")[2] for name in seen} >= {"to_leader", "to_follower", "action", "follower_learns"}
    assert {name for name in seen if name.startswith("power_loss_inside")} >= {
        f"power_loss_inside inside {kind}" for kind in ("to_leader", "to_follower", "action")
    }


def called(word: int) -> str:
    """A kind of step; of one that breaks off another, of which."""
    said = StepWord.of(word)
    return said.kind + (f" inside {said.base.kind}" if said.row.breaks_off else "")


FAILING = (8, 24, 25, 26, 29, 30)


@pytest.mark.parametrize("engine", ["compiled", "interpret"])
def test_a_simulated_process_comes_back_with_what_it_wrote(engine: str) -> None:
    faults = (Fault(150, "crash", 0), Fault(160, "recover", 0), Fault(150, "crash", 1), Fault(160, "recover", 1))
    s = play(Run(3, nodes=2, rounds=161, protocol=str(TEXT), faults=faults), engine).state
    assert list(s.length) == [1, 1]
    assert list(s.role) == [0, 0]


# --- mutants -------------------------------------------------------------------------------------


def changed(module: ModuleType, old: str, new: str, folder: Path) -> ModuleType:
    """A world's module, its text changed."""
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    assert old in text
    made = import_text(folder, f"changed_{module.__name__.rpartition('.')[2]}", text.replace(old, new))
    for value in vars(made).values():
        if getattr(value, "__module__", "") == made.__name__:
            value.__module__ = module.__name__
    made.__name__ = module.__name__
    return made


MUTANTS: dict[str, tuple[ModuleType, str, str]] = {
    "a prefix is left out": (storage, "s.unforced[p] + 1 if", "max(s.unforced[p], 1) if"),
    "memory is kept": (left_open, "    close_accepted(s, p)\n    on_crash(s, p)\n", "    close_accepted(s, p)\n"),
    "connections are kept": (
        left_open,
        "    disconnect(s, p)\n    leave(s, p)\n    close_accepted(s, p)\n    on_crash",
        "    on_crash",
    ),
    "what is forced is not": (storage, "            keep_image(s, p, 0)\n            clear", "            clear"),
    "what fails goes on": (storage, "return s.failed == 0 or s.turn_of != s.failing", "return True"),
    "others of an election stop": (storage, "return s.failed == 0 or s.turn_of != s.failing", "return s.failed == 0"),
    "fields are not put back": (storage, "    put_back(s, p)\n    by", "    by"),
    "no step breaks off at the beginning": (storage, "    s.turn_of = p\n    pass_point(s)", "    s.turn_of = p"),
    "a receipt does not break off": (connections, "offer_with(s, out, TO_FOLLOWER", "emit(out, TO_FOLLOWER"),
    "no one fails in an election": (connections, "            may_fail_electing(s, out, l, quorum)\n", ""),
}


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_does_not_count_as_the_second_semantics(
    mutant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, old, new = MUTANTS[mutant]
    made = changed(module, old, new, tmp_path)
    monkeypatch.setattr("zabspec.language.python.reference.is_own_file", lambda file: True)  # a world's text is ours
    if module is storage:
        monkeypatch.setattr(disks, "storage", made)
    elif module is left_open:
        monkeypatch.setattr("zabspec.model.left_open", made)
    else:
        monkeypatch.setattr(over_connections.OverConnections, "text", made)
    found = Interpreter(Model(asked(variant="idle")), properties_of(str(TEXT)), False).run(Limits(), True)
    assert found.error or found.levels != unchanged()


@cache
def unchanged() -> list[int]:
    return second("idle")[0]


# --- what there is not ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'volatile("where it stands")',
            'on_disk("where it stands")',
            "role is on a disk: the current role of a process is volatile, or stored",
        ),
        ("    s.role[l] = LEADING\n", "    s.role[l] = LEADING - choose(s, 1)\n", "on_elected: .*cannot choose"),
    ],
)
def test_what_is_wrong_is_one_sentence(old: str, new: str, said: str, tmp_path: Path) -> None:
    text = TEXT.read_text().replace("import (\n", "import (\n    choose,\n", 1)
    assert old in text
    path = tmp_path / "text.py"
    path.write_text(text.replace(old, new))
    with pytest.raises(ConfigError, match=said):
        Model(Configuration(str(path))).program  # noqa: B018


def test_an_unordered_channel_has_as_many_places_as_a_word_can_say() -> None:
    with pytest.raises(ConfigError, match="32 places in a channel: --channel 32, and not 33"):
        Model(Configuration(str(TEXT), network="unordered", channel=33)).program  # noqa: B018
    assert Model(Configuration(str(TEXT), network="unordered", channel=33, power_losses=0)).program
    assert crash_within.PLACES == 32


@pytest.mark.slow(seconds=2)
def test_the_symbolic_world_takes_the_same_steps() -> None:
    """In states that are known whole, of which its terms are numbers; every step that breaks off among them."""
    c = asked(variant="hasty", crashes=1)
    code, names = compiled(c, False, properties_of(str(TEXT))), full_namespace(Model(c))
    transition, kinds = Transition(Model(c), names), set[int]()
    size, initial = transition.layout.size, code.model.program.initial().key()
    for seed in range(3):
        data, chance = initial, random.Random(seed)
        for _ in range(5):
            values = values_of(transition.layout, data)
            after = dict(code.next_states(data))
            transition.emitted = []
            transition.machine.on_states("enabled", [values], [[]])
            there = [(k, a, b, n) for true, k, a, b, n in transition.emitted if true is True]
            assert [k << 24 | a << 16 | b << 8 | n for k, a, b, n in there] == [w for w in after if not w >> 32]
            for word in chance.sample(sorted(after), min(12, len(after))):
                action = transition.action(word, True, values)
                assert action.error == 0
                assert bytes_of(transition.layout, action.after)[:size] == after[word][:size], hex(word)
                kinds.add(word >> 24 & 255)
            data = chance.choice([*after.values()] or [initial])[:size]
    assert kinds >= {8, 24, 25, 26, 27, 29, 30}
