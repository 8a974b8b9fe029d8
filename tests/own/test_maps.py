"""Maps, multisets, optional numbers, records that hold processes, and timers: what counts once, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from tests.second.harness.plain import Renamer, canonical
from tests.second.harness.question import Question
from tests.second.reference import explore
from tests.transcript import file_of
from zabspec.authoring.declaration import ProtocolError
from zabspec.model import Configuration, Model

TEXT = file_of("own/maps", "once.py")


def written(folder: Path, *changes: tuple[str, str]) -> str:
    """The text with pieces of it replaced, as a file."""
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / "once.py"
    path.write_text(text)
    return str(path)


SENT = "if s.sent[p] == NOTHING:\n        s.sent[p] = 0\n    elif s.sent[p] < 1:\n        s.sent[p] += 1\n"
BY_RANGE = (
    "if s.sent[p] in range(1):\n        s.sent[p] = 1\n    elif s.sent[p] not in range(2):\n        s.sent[p] = 0\n"
)


@pytest.mark.parametrize("changes", [(), ((SENT, BY_RANGE),)])
def test_keys_and_parts_of_records_are_renamed(changes: tuple[tuple[str, str], ...], tmp_path: Path) -> None:
    """Orbits are those of brute force over all states that the second semantics reaches."""
    budgets = {"requests": 3, "duplicates": 0, "client": 3}
    asked = {
        "protocol": written(tmp_path, *changes), "nodes": None, "network": "datagrams", "budgets": budgets,
        "properties": [],
    }  # fmt: skip
    question = Question(asked)
    every = explore(asked)
    renamer = Renamer(question.plain, "", question.configuration.roles)
    orbits = {renamer.orbit(canonical(state))[0] for state in every["states"]}
    found = Interpreter(question.model, (), True, every_step=True).run(Limits(), False)
    assert found.complete
    assert sum(found.raw_levels) == len(every["states"])
    assert sum(found.levels) == len(orbits) < len(every["states"]) / 3


def test_a_set_in_a_record_is_counted_as_any_other(tmp_path: Path) -> None:
    """Under a quorum system a text that asks how large it is may count majorities by hand."""
    path = tmp_path / "counts.py"
    path.write_text(COUNTS)
    with pytest.raises(ProtocolError, match=r"counts.py:\d+: enough uses the size of a set of processes"):
        Model(Configuration(str(path), nodes=3, quorums="weights 1,1,1"))


COUNTS = """
from zabcheck.language import Each, Fields, Node, RecordType, action, declare, is_quorum, stored


class Votes(RecordType):
    of: set[Node]


class State(Fields):
    votes: Each[Node, Votes] = stored("")
    heard: Each[Node, set[Node]] = stored("")


def enough(s: State, p: Node) -> bool:
    return len(s.votes[p].of) > 1 or is_quorum(s, s.heard[p])
@action(when=enough, budget="turns")
def votes_for(s: State, p: Node) -> None:
    s.votes[p] = Votes(of={q for q in range(s.NODES) if q == p})
PROTOCOL = declare(__name__, budgets={"turns": 1})
"""

FENCED = (Path(__file__).parents[2] / "examples" / "fenced_lock.py").read_text(encoding="utf-8")
EXPIRE = '@fires("lease", budget="expiries")'


def test_a_timer_is_an_action_that_disarms_it(tmp_path: Path) -> None:
    """The same text with a guard and an assignment in its place has the same states, and orbits."""
    by_hand = FENCED.replace(
        EXPIRE,
        'def armed(s: State, p: Server) -> bool:\n    return s.lease[p]\n\n\n@action(when=armed, budget="expiries")',
    ).replace("    s.holder[p] = NOBODY\n", "    s.lease[p] = False\n    s.holder[p] = NOBODY\n", 1)
    by_hand = by_hand.replace('timer("the holder', 'volatile("the holder')
    levels = []
    for name, text in (("fenced.py", FENCED), ("by_hand.py", by_hand)):
        (tmp_path / name).write_text(text)
        asked = Configuration(
            str(tmp_path / name), parameters="client=2,server=1,store=1", budgets="acquires=2,expiries=1,writes=1"
        )
        found = Interpreter(Model(asked), (), True, every_step=True).run(Limits(), False)
        assert found.complete
        levels.append((found.levels, found.raw_levels))
    assert levels[0] == levels[1]
    assert sum(levels[0][0]) < sum(levels[0][1])
