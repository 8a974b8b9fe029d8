"""Sleep sets: the same states and depths by fewer transitions, and why (docs/explanation/reductions.md)."""

from __future__ import annotations

import random
import re
import struct
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore import narrowing
from checker.explore import reduced as blocks
from checker.explore.ample import AmpleExplorer
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.predecessors import PREDECESSOR
from checker.explore.reduced import ReducedExplorer
from checker.explore.reducible import why_not_reduced
from checker.explore.reduction import MOST_CASES, Reducing, collisions, relation
from checker.explore.result import Exploration, Limits, Violation
from checker.explore.sleep_kernel import MOST_ASLEEP
from invariants import properties_of
from zabspec.language.analysis.footprints import Touch
from zabspec.model import Configuration, Model

DEFAULT = [p for p in properties_of("zab") if p.default and p.judges("zab")]
SMALL = Configuration(nodes=3, txns=1, timeouts=1, crashes=0, losses=0)
FAULTS = Configuration(nodes=3, txns=2, timeouts=1, crashes=1, losses=1)
STEPS_BREAK = Configuration(nodes=3, txns=2, timeouts=0, crashes=0, losses=0, variant="propose-to-synced-only")


@cache
def reducing(configuration: Configuration, symmetry: bool) -> Reducing:
    return Reducing(Model(configuration), DEFAULT, symmetry)


def found(r: Exploration) -> dict[str, object]:
    """What a reduced exploration must find as the full one does: all but the transitions that were taken."""
    return {
        "levels": r.levels,
        "raw": r.raw_levels,
        "terminal": r.terminal,
        "witnessed": r.witnessed,
        "violated": {name: v.depth for name, v in r.violations.items()},
        "error": bool(r.error),
        "complete": r.complete,
        "never taken": {name for name, n in r.step_counts.items() if not n},
    }


def both(configuration: Configuration, symmetry: bool = True, threads: int = 1, **limits: int) -> list[Exploration]:
    full = Explorer(Compiled(Model(configuration), DEFAULT, symmetry), threads).run(Limits(**limits), keep_going=True)
    less = ReducedExplorer(reducing(configuration, symmetry), threads).run(Limits(**limits), keep_going=True)
    return [full, less]


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize(
    ("configuration", "depth", "symmetry"),
    [(SMALL, 60, True), (SMALL, 60, False), (FAULTS, 12, False), (STEPS_BREAK, 60, True)],
    ids=["safe", "without symmetry", "faults", "broken"],
)
def test_every_state_is_found_at_its_depth(configuration: Configuration, depth: int, symmetry: bool) -> None:
    full, less = both(configuration, symmetry, depth=depth)
    assert found(less) == found(full)
    assert less.generated < 0.8 * full.generated
    assert less.reduced
    assert not full.reduced


@pytest.mark.slow(seconds=3)
def test_more_steps_than_fit_a_word_sleep_in_a_state() -> None:
    """Of a sleep set the first four names lie in one word, the others in a second: with five processes both are used.
    If the second were lost, 65 % of the transitions would be taken."""
    full, less = both(replace(SMALL, nodes=5), symmetry=False, depth=6)
    assert found(less) == found(full)
    assert less.generated < 0.5 * full.generated


@pytest.mark.slow(seconds=2)
def test_a_packed_state_has_room_for_the_longest_sleep_set() -> None:
    """Behind it lie their number and their names, 16 bits each; else a successor would be written past its buffer."""
    longest = len(struct.pack(f"<{1 + MOST_ASLEEP}H", *range(1 + MOST_ASLEEP)))
    plain, code = Compiled(Model(SMALL), DEFAULT, False).numbers, reducing(SMALL, False).numbers
    assert code["PACKED_LIMIT"] >= plain["PACKED_LIMIT"] + longest
    assert code["MARGIN"] >= plain["MARGIN"] + longest * Model(SMALL).most_steps


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_block_that_is_begun_and_filled_in_one_batch_is_in_use(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """It was given to the next states of the same level, which then stood where its own had been."""
    full = Explorer(Compiled(Model(SMALL), DEFAULT, True), threads).run(Limits())
    monkeypatch.setattr(blocks, "UNIT", 4096)
    for stream in (12_000, 30_000, 60_000):
        monkeypatch.setattr(blocks, "STREAM", stream)
        assert found(ReducedExplorer(reducing(SMALL, True), threads).run(Limits(), keep_going=True)) == found(full)


# --- every declared pair commutes, byte for byte --------------------------------------------------


def independent(code: Reducing, words: list[int], state: bytes, t: int, u: int) -> bool:
    x, y = code.class_of_step(code.state(state), t), code.class_of_step(code.state(state), u)
    (a, b), (c, d) = ((x >> 8 & 255, x >> 16 & 255), (y >> 8 & 255, y >> 16 & 255))
    same = (a == c) | (a == d) << 1 | (b == c) << 2 | (b == d and b < code.layout.schema.nodes) << 3
    return not words[(x & 255) * MOST_CASES + (y & 255)] >> same & 1


def not_commuting(code: Reducing, words: list[int], walks: int, seed: int) -> tuple[int, int, list[str]]:
    """Pairs of possible steps that were tried on random walks, how many of them are declared independent, and what is
    wrong with those that are."""
    source, size = random.Random(seed), code.layout.size
    tried, declared, wrong = 0, 0, []
    for _ in range(walks):
        state = code.model.program.initial().key()
        for _ in range(60):
            after = {word: data[:size] for word, data in code.next_states(state)}
            if not after:
                break
            for t in after:
                for u in after:
                    if t >= u or t >> 32 or u >> 32:
                        continue
                    tried += 1
                    if independent(code, words, state, t, u):
                        declared += 1
                        assert independent(code, words, state, u, t)
                        one = dict(code.next_states(after[t])).get(u, b"")[:size]
                        other = dict(code.next_states(after[u])).get(t, b"")[:size]
                        if not one or one != other:
                            wrong.append(f"{t:#x} and {u:#x}")
            state = after[source.choice(list(after))]
    return tried, declared, wrong


@pytest.mark.slow(seconds=2)
def test_independent_steps_commute_on_reachable_states() -> None:
    code = reducing(FAULTS, False)
    tried, declared, wrong = not_commuting(code, code.code.facts["relation"], 40, 3)
    assert not wrong
    assert tried > 5000
    assert declared > 0.35 * tried  # of all pairs, those of one process among them


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize(
    "pairs",
    [
        [("connect", "close_accepted"), ("oracle", "close_accepted")],  # whom the oracle names gives up
        [("lose", "send_to_leader")],  # sent before the connection is lost, or after
        [("lose", "close_accepted"), ("lose_connection", "close_accepted"), ("lose", "closed")],
    ],
    ids=str,
)
def test_a_pair_that_does_not_commute_is_caught(pairs: list[tuple[str, str]]) -> None:
    code = reducing(FAULTS, False)
    words = relation(code.cases, [*code.conventions.commute, *pairs])
    assert words != code.code.facts["relation"]
    assert not_commuting(code, words, 40, 3)[2]


def test_a_relation_that_is_not_sound_loses_states() -> None:
    explorer = ReducedExplorer(reducing(SMALL, True))
    explorer.relate([0] * MOST_CASES**2)
    assert explorer.run(Limits()).distinct < 30_000
    assert ReducedExplorer(reducing(SMALL, True)).run(Limits()).distinct > 30_000


def test_what_collides() -> None:
    """Reads do not; a write does, where the processes are the same, and unless its label may change places."""
    mine, any_one = Touch("x", ("a",), True), Touch("x", (None,), False)
    assert collisions({mine}, {mine}, frozenset()) == sum(1 << k for k in range(16) if k & 1)
    assert collisions({mine}, {Touch("x", ("b",), False)}, frozenset()) == sum(1 << k for k in range(16) if k & 2)
    assert collisions({mine}, {any_one}, frozenset()) == 0xFFFF
    assert collisions({any_one}, {any_one}, frozenset()) == 0
    assert collisions({mine}, {Touch("y", (), True)}, frozenset()) == 0
    assert collisions({mine}, {Touch("*", (), True)}, frozenset()) == 0xFFFF
    pair = frozenset({frozenset({"p", "q"})})
    assert collisions({replace(mine, label="p")}, {replace(mine, label="q")}, pair) == 0
    assert collisions({replace(mine, label="p")}, {replace(mine, label="p")}, pair) != 0
    assert collisions({mine}, {replace(mine, label="q")}, pair) != 0


def test_steps_whose_judging_looks_beyond_their_process_do_not_sleep() -> None:
    """Invariant 4 compares channels: a leader that chooses a history is looked at wherever it does."""
    code = reducing(SMALL, False)
    seen = {True: 0, False: 0}
    source, state = random.Random(1), code.model.program.initial().key()
    for _ in range(3000):
        after = code.next_states(state)
        if not after:
            state = code.model.program.initial().key()
            continue
        _, whole = source.choice(after)
        view = code.view(whole)
        chooses = view.stage[view.event_process] == 3 and code.view(state).stage[view.event_process] == 2
        if code.visible_step(code.state(state), code.state(whole)):
            seen[chooses] += 1
        assert not chooses or code.visible_step(code.state(state), code.state(whole))
        state = whole[: code.layout.size]
    assert seen[True]
    assert seen[False]  # NEWEPOCH, which looks at what is sent


# --- the command -----------------------------------------------------------------------------------


@pytest.mark.slow(seconds=1)
def test_only_what_is_large_is_reduced(monkeypatch: pytest.MonkeyPatch) -> None:
    question = ["--nodes", "3", "--txns", "1", "--timeouts", "1", "--crashes", "0", "--losses", "0", "--no-trace"]
    small = CliRunner().invoke(main, question)
    assert "reduc" not in small.output
    monkeypatch.setattr(narrowing, "SMALL", 1000)
    large = CliRunner().invoke(main, question)
    assert "(reduced: only by transitions that were taken)" in large.output
    assert "sleep sets: every state, at its depth" in large.output
    assert large.exit_code == small.exit_code == 0
    assert large.output.splitlines()[0] == small.output.splitlines()[0]
    for option in (["--reduction", "none"], ["--depth", "60"], ["--keep-going"], ["--time-limit", "19"]):
        again = CliRunner().invoke(main, [*question, *option, "--json"])
        assert '"reduced": false' in again.output
        assert f'"reduction_off": "{" ".join(option[: 1 + (option[-1] == "none")])}"' in again.output
    assert CliRunner().invoke(main, [*question, "--reduction", "some"]).exit_code == 2


@pytest.mark.slow(seconds=2)
def test_a_violation_of_a_large_exploration_is_the_shortest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowing, "SMALL", 1000)
    question = ["--variant", "equal-epoch", "--no-trace", "--txns", "1", "--crashes", "0", "--losses", "0"]
    r = CliRunner().invoke(main, question)
    full = CliRunner().invoke(main, [*question, "--reduction", "none"])
    assert r.exit_code == full.exit_code == 1
    assert r.output.splitlines()[0] == full.output.splitlines()[0]


class Cut:
    """What ends each search that a command begins again: so many states, or what is raised as its model is made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, ample: int | type, sleep: int | type) -> None:
        monkeypatch.setattr(narrowing, "SMALL", 1000)
        for kind, end in ((AmpleExplorer, ample), (ReducedExplorer, sleep)):
            monkeypatch.setattr(kind, "run", self.cut(kind.run, end, kind))

    @staticmethod
    def cut(run: Any, end: int | type, kind: type) -> Any:
        def stopped(self: Any, limits: Limits, *more: Any) -> Exploration:
            if type(self) is not kind:
                return run(self, limits, *more)  # type: ignore[no-any-return]
            if not isinstance(end, int):
                raise end
            return run(self, replace(limits, max_states=end), *more)  # type: ignore[no-any-return]

        return stopped


MANY = 10**9
BROKEN = ["--nodes", "3", "--txns", "1", "--timeouts", "1", "--crashes", "0", "--losses", "0", "--no-trace"]


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize(
    ("ample", "sleep", "said"),
    [
        (MANY, 2000, "no verdict: --max-states 2000 reached; {} violated, with no path to it yet;"),
        (MANY, 700, "no verdict: --max-states 700 reached; {} violated, with no path to it yet;"),
        (MANY, KeyboardInterrupt, "no verdict: interrupted; {} violated, with no path to it yet;"),
        (KeyboardInterrupt, MANY, "no verdict: interrupted; no violation found;"),
        (1500, MANY, "no verdict: --max-states 1500 reached; no violation found;"),
    ],
    ids=["sleep sets", "sleep sets, early", "interrupted between them", "interrupted before them", "ample sets"],
)
def test_a_limit_that_ends_the_second_search_says_what_is_known(
    monkeypatch: pytest.MonkeyPatch, ample: int | type, sleep: int | type, said: str
) -> None:
    """What is broken is told, that no run is known is too, and no less is said than the first search had seen."""
    Cut(monkeypatch, ample, sleep)
    question = [*BROKEN, "--variant", "equal-epoch"]
    first, r = (CliRunner().invoke(main, [*question, *more]) for more in (["--max-states", "1000"], []))
    assert " ".join(r.output.split()).startswith(said.format("one-leader-an-epoch"))
    assert r.exit_code == 3
    assert "VIOLATED" not in r.output
    whole, states = ([int(re.search(asked, " ".join(x.output.split()))[1].replace(",", "")) for x in (first, r)]  # type: ignore[index]
                     for asked in (r"all states to depth (\d+)", r"distinct states ([\d,]+)"))  # fmt: skip
    assert whole[0] <= whole[1]
    assert 1000 <= states[0] <= states[1]


@pytest.mark.slow(seconds=2)
def test_what_only_one_search_finds_broken_is_no_verdict(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(narrowing, "SMALL", 1000)
    real = AmpleExplorer.run

    def finds(self: AmpleExplorer, *asked: Any) -> Exploration:
        result = real(self, *asked)
        result.violations = {"durability": Violation(result.properties[0], ())}
        return result

    monkeypatch.setattr(AmpleExplorer, "run", finds)
    r = CliRunner().invoke(main, BROKEN)
    assert r.exit_code == 3
    assert "durability with ample sets, and not with sleep sets" in r.output


def test_where_nothing_is_said_of_the_world_nothing_is_reduced() -> None:
    assert not why_not_reduced(Model(SMALL))
    own = Path(__file__).parents[1] / "own" / "texts" / "one_value.py"
    assert why_not_reduced(Model(Configuration(str(own)))) == "an election is a step (elects)"
    assert "declares no two steps" in why_not_reduced(Model(Configuration(protocol="db19")))
    for network in ("unordered", "lossy", "duplicating"):
        assert why_not_reduced(Model(replace(SMALL, network=network)))
    assert why_not_reduced(Model(replace(SMALL, partitions=1)))


def test_a_batch_cut_short_before_it_is_gathered_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was claimed by then has no predecessors yet: they are not looked for behind the end of their memory."""
    explorer = ReducedExplorer(reducing(SMALL, True), 2)
    rounds: list[object] = []

    def cut(part: object) -> None:
        rounds.append(part)
        if len(rounds) > 40:
            raise KeyboardInterrupt

    monkeypatch.setattr(explorer, "place", lambda part, real=explorer.place: (cut(part), real(part)))
    result = explorer.run(Limits())
    assert result.stopped == "interrupted"
    assert sum(result.levels) > 1000
    count, packed = explorer.preds.groups(len(explorer.preds) - 1)[0]
    assert len(packed) == PREDECESSOR * count
    assert count < result.levels[-1], "it was cut short between the two"
