"""Reductions of protocols with budgets and steps of their own: what one was tried to be made to say falsely."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.reduce import reducible
from checker.explore.reduce.ample import AmpleExplorer, Narrowing, conclusive
from checker.explore.reduce.reducible import why_not_narrowed
from checker.explore.result import Exploration, Limits
from invariants import properties_of
from tests.sources import LEADS_OR_FOLLOWS, LOOK, ROLES
from zabspec.model import Configuration, Model


@pytest.fixture(autouse=True)
def of_its_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """These protocols close their connections, and are taken as ones that are bounded by their world. What stands in
    for a connection that is left open reads every connection of a process, and nothing would be left out: reductions
    with budgets of one's own are to be derived for it before they are offered."""
    monkeypatch.setattr(Model, "leaving", ())


HEAD = (
    '''"""A leader may leave those that follow it."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY, Each, Fields, MessageType, Node, OneOf, Range, action, choose, connect, declare, disconnect, environment,
    environment_step, forget, ghost, observation, receives, safety, send_to_follower, send_to_leader, stored, volatile,
)

LOOKING, FOLLOWING, LEADING = range(3)


'''
    + ROLES
    + """    left: Each[Node, bool] = stored("it has led, and left")
    taken: Each[Node, Annotated[int, Range(0, 3)]] = stored("what it has taken")
    heard: Each[Node, bool] = stored("it has heard news")
    season: Annotated[int, Range(0, 1)] = environment("what time it is")


class HELLO(MessageType): ...


class NEWS(MessageType): ...


class MORE(MessageType):
    n: Annotated[int, Range(0, 2)]


def oracle_may_name(s: State, p: Node, l: Node) -> bool:
    return not s.left[l] and not s.left[p]


"""
    + LEADS_OR_FOLLOWS
    + """@receives
def on_hello(s: State, l: Node, f: Node, m: HELLO) -> None:
    send_to_follower(s, l, f, NEWS())


@receives
def on_news(s: State, f: Node, m: NEWS) -> None:
    s.heard[f] = True


def on_leader_lost(s: State, f: Node) -> None:
    look(s, f)


def on_follower_lost(s: State, l: Node, f: Node) -> None:
    return


def on_timeout(s: State, p: Node) -> None:
    look(s, p)


"""
    + LOOK
    + '''

def may_leave(s: State, p: Node) -> bool:
    return s.role[p] == LEADING and not s.left[p]


@action(when=may_leave{leaving})
def leaves(s: State, p: Node) -> None:
    look(s, p)
    s.left[p] = True


def any_state(s: State) -> bool:
    """Any state."""
    return True

'''
)
TAIL = """

PROTOCOL = declare(
    __name__, world="connections", budgets={budgets}, flight=lambda size: (4, 6)
)
"""


@dataclass(frozen=True)
class Searches:
    """What two searches of a protocol came to: every step, ample sets."""

    full: Exploration
    ample: Exploration

    def agree(self) -> None:
        """Assert that the reduced search says what the full one says."""
        assert bool(self.ample.violations) == bool(self.full.violations)
        assert set(self.ample.witnessed) <= set(self.full.witnessed)
        assert not conclusive(self.ample) or (not self.full.violations and not self.full.error)


def searched(folder: Path, body: str, budgets: dict[str, int], nodes: int = 2, leaving: str = "") -> Searches:
    """Explore a protocol in two ways.

    Args:
        body: what it has behind what all have.
        budgets: of which it declares all.
        leaving: more that the mark of the action `leaves` says.
    """
    path = folder / "budgets.py"
    path.write_text(HEAD.replace("{leaving}", leaving) + body + TAIL.format(budgets=budgets))
    model = Model(Configuration(str(path), nodes=nodes))
    judged = properties_of(str(path))
    code = Compiled.of(model, judged, True)[0]
    limits = Limits(None, None, None, None)
    full = Explorer(code, 1).run(limits, True)
    return Searches(full, AmpleExplorer(Narrowing(model, judged, code.symmetry), 1).run(limits, True))


SEASON = '''
def somebody_left(s: State) -> bool:
    for p in range(s.NODES):
        if s.left[p]:
            return s.season == 0
    return False


@environment_step(when=somebody_left)
def season_changes(s: State) -> None:
    s.season = 1


def in_season(s: State, p: Node) -> bool:
    return s.season == 1 and s.role[p] == FOLLOWING and s.taken[p] == 0


@action(when=in_season)
def takes(s: State, p: Node) -> None:
    s.taken[p] = 1


@safety(witness=any_state)
def nobody_has_taken(s: State) -> bool:
    """Nobody but process 0 takes what is there in season (it is violated)."""
    for p in range(s.NODES):
        if p != 0 and s.taken[p] > 0:
            return False
    return True
'''


@pytest.mark.slow(seconds=4)
def test_the_environment_may_let_one_act_that_is_on_its_own(tmp_path: Path) -> None:
    """A follower whose leader has left has nothing to do but to learn of that, until the season changes."""
    found = searched(tmp_path, SEASON, {})
    assert [*found.full.violations] == ["nobody-has-taken"]
    found.agree()


LAST = '''
def free_to_take(s: State, p: Node) -> bool:
    return s.taken[p] == 0


@action(when=free_to_take, budget="units")
def takes(s: State, p: Node) -> None:
    s.taken[p] = 1


@action(budget="units")
def takes_two(s: State, p: Node) -> None:
    s.taken[p] = 2


@safety(witness=any_state)
def last_is_for_one(s: State) -> bool:
    """Where nothing is left, process 0 has not all of it (it is violated)."""
    return s.units_left > 0 or s.taken[0] != 2 or s.taken[1] != 0


@safety(witness=any_state)
def nobody_takes_the_last(s: State) -> bool:
    """Two have not taken unless something is left (it is violated)."""
    return s.units_left > 0 or s.taken[0] == 0 or s.taken[1] == 0
'''


@pytest.mark.slow(seconds=4)
def test_two_race_for_the_last_of_a_budget(tmp_path: Path) -> None:
    found = searched(tmp_path, LAST, {"units": 2})
    assert len(found.full.violations) == 2
    found.agree()


WITH_ITS_OWN_ORDER = """
def takes_first(s: State, f: Node, m: AnyMessage) -> bool:
    return m.kind == NEWS
"""


def test_what_is_not_reduced_says_which_feature_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "budgets.py"
    whole = HEAD.replace("{leaving}", ', budget="units"') + TAIL.format(budgets={"units": 1})

    def why(more: str = "", declared: str = "", **given: object) -> str:
        text = whole.replace("PROTOCOL =", f"{more}PROTOCOL =").replace("budgets=", f"{declared}budgets=")
        path.write_text(text.replace("import (", "import (\n    AnyMessage, Start, on_disk,", 1))
        return why_not_narrowed(Model(Configuration(str(path), **given)))  # type: ignore[arg-type]

    assert why() == "it declares its own budgets (budgets, and not bounded_by_world)"
    bounded = "bounded_by_world=True, "
    assert why(declared=bounded) == "it has budgets or parameters of its own (budgets, parameters)"
    whole = whole.replace("'units': 1", "").replace(', budget="units"', "")
    assert why(declared=bounded) == "processes take internal steps (@action)"
    whole = whole.replace("@action(when=may_leave)\n", "")
    assert why(declared=bounded) == "a field of the world tracks which processes are down (no is_down)"
    assert why(declared=bounded, crashes=0) == "nothing is abcast (no transactions)"
    assert why(declared=f"{bounded}transactions=True, ", crashes=0) == ""
    changes = "@environment_step()\ndef passes(s: State) -> None:\n    s.season = 1\n\n\n"
    assert why(changes, bounded, crashes=0) == "the environment takes steps (@environment_step)"
    whole = HEAD.replace("{leaving}", ', budget="units"') + TAIL.format(budgets={"units": 1})
    monkeypatch.setattr(reducible, "why_not_compared", lambda model: "")
    assert why() == ""
    starts = 'starts=[Start("already", "it is", already)], '
    already = "def already(s: State) -> None:\n    s.season = 1\n\n\n"
    assert why(already, starts) == ""
    assert why(already, starts, start="already") == "runs begin in a start state (starts)"
    assert why(WITH_ITS_OWN_ORDER.lstrip()) == "steps are merged by promise (takes_first)"
    assert why(WITH_ITS_OWN_ORDER.lstrip(), promises=False) == ""
    elects = "def on_elected(s: State, l: Node) -> None:\n    s.role[l] = LEADING\n\n\n"
    elects += "def on_follow(s: State, f: Node, l: Node) -> None:\n    s.role[f] = FOLLOWING\n\n\n"
    assert why(elects, 'elects=("taken",), ') == "an election is a step (elects)"
    whole = whole.replace('stored("what it has', 'on_disk("what it has').replace("budgets={", 'budgets={"crashes": 1, ')
    assert why() == "a process has something on a disk (on_disk)"
    assert why(crashes=0) == "a process has something on a disk (on_disk)"
    assert "declares no two steps to commute" in why(network="lossy")


def test_a_function_called_as_a_label_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may change places is declared of the world's functions and steps, by their names."""
    monkeypatch.setattr(reducible, "why_not_compared", lambda model: "")
    path = tmp_path / "budgets.py"
    named = "@observation\ndef leader_learns(s: State, p: Node) -> None:\n    return\n\n\n"
    acts = '@action(budget="units")\ndef acts(s: State, p: Node) -> None:\n    leader_learns(s, p)\n'
    path.write_text(HEAD.replace("{leaving}", "") + named + acts + TAIL.format(budgets={"units": 1}))
    assert "has a function leader_learns in the place of the world's" in why_not_narrowed(
        Model(Configuration(str(path)))
    )
