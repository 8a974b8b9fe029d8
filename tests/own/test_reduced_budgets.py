"""Reductions of protocols with budgets and steps of their own: what one was tried to be made to say falsely."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from checker.explore.ample import AmpleExplorer, Narrowing, conclusive
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.reduced import ReducedExplorer
from checker.explore.reduction import Reducing
from checker.explore.result import Exploration, Limits
from invariants import properties_of
from zabspec.model import Configuration, Model

HEAD = '''"""A leader may leave those that follow it."""

from __future__ import annotations

from zabcheck.language import (
    NOBODY, NODE, Bool, Int, Message, MessageName, Node, NodeId, OneOf, State, action, choose, connect, declare,
    disconnect, environment, environment_step, forget, ghost, observation, receives, safety, send_to_follower,
    send_to_leader, stored, volatile,
)

LOOKING, FOLLOWING, LEADING = range(3)
HELLO, NEWS, MORE = MessageName("HELLO"), MessageName("NEWS"), MessageName("MORE")


def state(size):
    return [
        volatile("role", OneOf("LOOKING", "FOLLOWING", "LEADING"), "where it stands"),
        volatile("leader", NodeId.of(size.nodes), "whom it follows"),
        stored("left", Bool(), "it has led, and left"),
        stored("taken", Int(0, 3), "what it has taken"),
        stored("heard", Bool(), "it has heard news"),
        environment("season", Int(0, 1), "what time it is"),
    ]


def messages(size):
    return [Message("HELLO", {}), Message("NEWS", {}), Message("MORE", {"n": Int(0, 2)})]


def oracle_may_name(s: State, p: Node, l: Node) -> bool:
    return not s.left[l] and not s.left[p]


def on_oracle(s: State, p: Node, l: Node) -> None:
    if l == p:
        s.role[p] = LEADING
    else:
        s.role[p] = FOLLOWING
        s.leader[p] = l
        connect(s, p, l)
        send_to_leader(s, p, HELLO())


@receives
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


def look(s: State, p: Node) -> None:
    disconnect(s, p)
    s.role[p] = LOOKING
    s.leader[p] = NOBODY


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
TAIL = """

PROTOCOL = declare(
    __name__, state=state, messages=messages, world="connections", budgets={budgets}, flight=lambda size: (4, 6)
)
"""


@dataclass(frozen=True)
class Searches:
    """What three searches of a protocol came to: every step, sleep sets, ample sets."""

    full: Exploration
    asleep: Exploration
    ample: Exploration

    def agree(self) -> None:
        """Assert that the reduced searches say what the full one says."""
        assert self.asleep.levels == self.full.levels
        assert self.asleep.terminal == self.full.terminal
        assert self.asleep.witnessed == self.full.witnessed
        assert {n: v.depth for n, v in self.asleep.violations.items()} == {
            n: v.depth for n, v in self.full.violations.items()
        }
        assert bool(self.ample.violations) == bool(self.full.violations)
        assert set(self.ample.witnessed) <= set(self.full.witnessed)
        assert not conclusive(self.ample) or (not self.full.violations and not self.full.error)


def searched(folder: Path, body: str, budgets: dict[str, int], nodes: int = 2, leaving: str = "") -> Searches:
    """Explore a protocol in three ways.

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
    asleep = ReducedExplorer(Reducing(model, judged, code.symmetry), 1).run(limits, True)
    return Searches(full, asleep, AmpleExplorer(Narrowing(model, judged, code.symmetry), 1).run(limits, True))


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
    """Two have not taken unless something is left (it is violated by two units, and not by one)."""
    return s.units_left > 0 or s.taken[0] == 0 or s.taken[1] == 0
'''


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize(("units", "violated"), [(1, 1), (2, 2)])
def test_two_race_for_the_last_of_a_budget(units: int, violated: int, tmp_path: Path) -> None:
    found = searched(tmp_path, LAST, {"units": units})
    assert len(found.full.violations) == violated
    found.agree()
    assert found.asleep.generated < found.full.generated


SPENT = '''
@action(budget="{fault}")
def spends(s: State, p: Node) -> None:
    s.taken[p] = min(s.taken[p] + 1, 3)


@safety(witness=any_state)
def heard_before(s: State) -> bool:
    """Who has left and taken what there was has not heard news (it may be violated)."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if p != q and s.left[p] and s.taken[q] > 0 and s.heard[q] and s.{fault}_left == 0 and s.role[q] == LOOKING:
                return False
    return True


@safety(over="step", witness=some_step)
def nobody_spends_after(before: State, event: State, after: State) -> bool:
    """Nothing is spent once somebody has left (it is violated)."""
    if after.{fault}_left < before.{fault}_left:
        for p in range(after.NODES):
            if before.left[p]:
                return False
    return True
'''
ANY_STEP = '''
def some_step(before: State, event: State, after: State) -> bool:
    """Any step."""
    return True

'''


@pytest.mark.slow(seconds=6)
@pytest.mark.parametrize("fault", ["timeouts", "crashes", "losses"])
def test_an_action_may_spend_what_a_fault_costs(fault: str, tmp_path: Path) -> None:
    """Who is on its own is told by what is left of two of these."""
    found = searched(tmp_path, ANY_STEP + SPENT.replace("{fault}", fault), {fault: 2})
    assert "nobody-spends-after" in found.full.violations
    found.agree()


WATCHED = '''
@action(budget="units")
def spends(s: State, p: Node) -> None:
    s.taken[p] = min(s.taken[p] + 1, 3)


def nothing_left(s: State) -> bool:
    return s.units_left == 0 and s.season == 0


@environment_step(when=nothing_left)
def season_changes(s: State) -> None:
    s.season = 1


def in_season(s: State, p: Node) -> bool:
    return s.season == 1 and s.taken[p] == 0


@action(when=in_season)
def rests(s: State, p: Node) -> None:
    s.taken[p] = 3


@safety(witness=any_state)
def nobody_rests_unheard(s: State) -> bool:
    """Who rests has heard news, while a unit is left (it is violated)."""
    for p in range(s.NODES):
        if s.taken[p] == 3 and not s.heard[p] and s.units_left == 0 and p != 0:
            return False
    return True
'''


@pytest.mark.slow(seconds=4)
def test_the_environment_may_look_at_what_is_left(tmp_path: Path) -> None:
    found = searched(tmp_path, WATCHED, {"units": 1})
    assert [*found.full.violations] == ["nobody-rests-unheard"]
    found.agree()


TWICE = '''
def leads(s: State, p: Node) -> bool:
    return s.role[p] == LEADING


@action(when=leads, budget="units")
def tells(s: State, p: Node) -> None:
    for f in range(s.NODES):
        if f != p:
            send_to_follower(s, p, f, MORE(n=1))


@action(when=leads, budget="others")
def tells_more(s: State, p: Node) -> None:
    for f in range(s.NODES):
        if f != p:
            send_to_follower(s, p, f, MORE(n=2))


@receives
def on_more(s: State, f: Node, m: MORE) -> None:
    s.taken[f] = m.n


@safety(witness=any_state)
def later_counts(s: State) -> bool:
    """Process 1 ends with 2 where all was told (it is violated)."""
    told = s.units_left == 0 and s.others_left == 0 and len(s.to_follower[1]) == 0
    return not told or s.taken[1] != 1
'''


@pytest.mark.slow(seconds=4)
def test_what_two_actions_of_a_leader_send_has_an_order(tmp_path: Path) -> None:
    found = searched(tmp_path, TWICE, {"units": 1, "others": 1})
    assert [*found.full.violations] == ["later-counts"]
    found.agree()


EVERYWHERE = '''
def somebody_left(s: State) -> bool:
    for p in range(s.NODES):
        if s.left[p]:
            return True
    return False


@environment_step(when=somebody_left, budget="units", everywhere=True)
def moves(s: State) -> None:
    for p in range(s.NODES):
        if s.role[p] == FOLLOWING and p != 0:
            {does}


@safety(witness=any_state)
def nobody_is_moved(s: State) -> bool:
    """Process 1 does not lead when somebody has left, and has taken nothing (it is violated)."""
    return not (s.left[0] and (s.role[1] == LEADING and s.leader[1] == 0 or s.taken[1] == 3 or s.leader[1] == 1))
'''


@pytest.mark.slow(seconds=6)
@pytest.mark.parametrize("does", ["s.role[p] = LEADING", "s.taken[p] = 3", "s.leader[p] = p"])
def test_the_environment_may_change_what_a_process_has(does: str, tmp_path: Path) -> None:
    found = searched(tmp_path, EVERYWHERE.replace("{does}", does), {"units": 1})
    assert [*found.full.violations] == ["nobody-is-moved"]
    if found.ample.apart:  # it is not believed then
        assert not conclusive(found.ample)
    else:
        found.agree()


ITSELF = '''
def led(s: State, p: Node) -> bool:
    return s.role[p] == LEADING and s.taken[p] < 2


@action(when=led, budget="units")
def follows_itself(s: State, p: Node) -> None:
    if s.leader[p] == NOBODY:
        s.leader[p] = p
        connect(s, p, p)
        send_to_leader(s, p, HELLO())
    else:
        disconnect(s, p)


@safety(witness=any_state)
def nothing_is_told(s: State) -> bool:
    """No news lie in the channel of a leader to itself once it has closed that (it is violated)."""
    for p in range(s.NODES):
        if s.units_left == 0 and s.leader[p] == p and s.heard[p] and s.link[p][p] == 0:
            return False
    return True
'''


@pytest.mark.slow(seconds=4)
def test_a_leader_may_close_its_connection_to_itself(tmp_path: Path) -> None:
    found = searched(tmp_path, ITSELF, {"units": 2})
    assert found.asleep.levels == found.full.levels
    assert found.asleep.violations.keys() == found.full.violations.keys()
    assert found.ample.apart or bool(found.ample.violations) == bool(found.full.violations)


SEES = '''
@action(budget="units")
def spends(s: State, p: Node) -> None:
    s.taken[p] = min(s.taken[p] + 1, 3)


def last_spent(s: State) -> bool:
    """Nothing is left while a follower has not heard of its leader."""
    for p in range(s.NODES):
        if s.units_left == 0 and s.role[p] == FOLLOWING and s.left[0] and p == 1:
            return True
    return False


@safety(witness=last_spent)
def in_order(s: State) -> bool:
    """Process 0 has taken no more than process 1 has, and one (it is not violated)."""
    return s.taken[0] <= s.taken[1] + s.UNITS
'''


@pytest.mark.slow(seconds=4)
def test_a_premise_may_look_at_what_is_left(tmp_path: Path) -> None:
    """One that only a search with ample sets leaves unmet is no answer."""
    found = searched(tmp_path, SEES, {"units": 2})
    assert not found.full.violations
    assert "in-order" in found.full.witnessed
    found.agree()
    assert conclusive(found.ample) == ("in-order" in found.ample.witnessed)
