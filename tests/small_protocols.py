"""Small protocols of many shapes, and induction asked in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from checker.proofs.symbolic import pool
from checker.proofs.symbolic.assumptions import beside, sized
from checker.proofs.symbolic.counterexample import rows
from checker.proofs.symbolic.pool import Outcome, Question, Verdict
from invariants.proofs.argument import argument_of
from zabspec.model import Configuration
from zabspec.protocols.registry import PROTOCOLS

TEXT = '''"""A small protocol."""
from __future__ import annotations

from typing import Annotated

from zabcheck.language import NOBODY, Each, Fields, Range, Node, action, broken, choose, declare, safety, stored


class State(Fields):
    level: Each[Node, Annotated[int, Range(0, 4)]] = stored("its level")
    leader: Each[Node, Node] = stored("its leader")


def may_grow(s: State, p: Node) -> bool:
    return s.level[p] < 2


@action(when=may_grow)
def grow(s: State, p: Node) -> None:
    s.level[p] += 1


def may_elect(s: State, p: Node) -> bool:
    return s.leader[p] == NOBODY


@action(when=may_elect)
def elect(s: State, p: Node) -> None:
    s.leader[p] = p


def up(s: State) -> bool:
    """Someone is up."""
    for p in range(s.NODES):
        if s.level[p] > 0:
            return True
    return False


HELPER
@safety(witness=up)
def low(s: State) -> bool:
    """No level above 2."""
    for p in range(s.NODES):
        CHECK
        if s.level[p] > 2:
            return broken(f"p{p} is {s.level[p]}")
    return True


PROTOCOL = declare(__name__, nodes=2)
'''

FOLLOWS = """def follows(s: State, p: Node) -> bool:
    if s.leader[p] == NOBODY:
        return False
    return s.level[s.leader[p]] > LIMIT


"""
LEVEL = """def its_level(s: State, p: Node) -> int:
    return s.level[s.leader[p]]


"""
GROW = "s.level[p] += 1"


@dataclass(frozen=True)
class Small:
    """A small protocol, and what is right about it.

    Attributes:
        check: what the property has besides.
        helper: what it calls.
        grow: the step, if it is another.
        induct: the verdict of an induction; empty where steps have run-time errors.
        depth: of the shortest violation, or error; None for none.
    """

    check: str = "pass"
    helper: str = ""
    grow: str = GROW
    induct: str = "proved"
    depth: int | None = None

    @property
    def text(self) -> str:
        return TEXT.replace("HELPER\n", self.helper).replace("CHECK", self.check).replace(GROW, self.grow)


SMALL = {
    "as it is": Small(),
    "violated at the start": Small("if s.level[p] == 0:\n            return False", induct="not inductive", depth=0),
    # a clause read past this helper's return has an error wherever nobody leads, so that nothing else was assumed
    "return before an error": Small(
        "if s.level[p] == 2 or follows(s, p):\n            return broken(f'p{p}')",
        FOLLOWS.replace("LIMIT", "3"), induct="not inductive", depth=2,
    ),
    "return before no error": Small("if follows(s, p):\n            return False", FOLLOWS.replace("LIMIT", "2")),
    "an error in a clause": Small(
        "if s.level[s.leader[p]] > 3:\n            return False", induct="not inductive", depth=0
    ),
    # the first call can only have the error that was met before it, and the second has it by itself
    "an error met before": Small(
        "if s.level[p] == 4 and s.level[s.leader[p]] > 0 and its_level(s, p) > 0:\n            return False\n"
        "        if s.level[p] == 1 and its_level(s, p) > 2:\n            return False",
        LEVEL, induct="not inductive", depth=1,
    ),
    "nested returns": Small(
        "if s.level[p] > 2:\n            if s.leader[p] == p:\n                if s.level[p] > 3:\n"
        "                    return broken(f'a {p}')\n                else:\n"
        "                    return broken(f'b {s.level[p]}')\n            elif s.level[p] == 4:\n"
        "                return False"
    ),
    "three alternatives": Small(grow="s.level[p] = choose(s, 3)"),
    "one alternative too many": Small(grow="s.level[p] = choose(s, 4)", induct="not inductive", depth=1),
    "division": Small("if 4 // (1 + s.level[p]) == 0:\n            return False"),
    "division by zero in a clause": Small(
        "if 4 // (2 - s.level[p]) > 9:\n            return False", induct="not inductive", depth=2
    ),
    "remainder": Small(grow="s.level[p] = (s.level[p] + 5) % 3"),
    "an index below zero": Small(
        "if s.level[s.level[p] - 1] > 3:\n            return False", induct="not inductive", depth=0
    ),
    "beyond a range": Small(grow="s.level[p] += 5", induct="", depth=1),
}  # fmt: skip


class Here:
    """A pool without processes: each task runs here, when it is submitted."""

    def apply_async(self, what: Callable[[Any], Any], task: tuple[Any]) -> SimpleNamespace:
        found = what(*task)
        return SimpleNamespace(ready=lambda: True, get=lambda: found)

    def terminate(self) -> None: ...

    def join(self) -> None: ...


def forgotten() -> None:
    """Forget what was made of a file: another may stand there."""
    for kept in (pool.induction, pool.possible, pool.told_apart):
        kept.cache_clear()


def asked(path: str, only: str = "", most: int = 0, limit: float = 60.0, **given: Any) -> Outcome:
    """What comes of the whole question, or of some moves, asked in this process.

    Args:
        only: what the labels of the moves have in them.
        most: how many moves at most; 0 for all.
        limit: seconds of each query.
    """
    usual = {"network": "datagrams"} | ({} if PROTOCOLS[path].declared.roles else {"nodes": 2})
    c = sized(Configuration(path, **(usual | given)))
    argument = argument_of(path)
    assert argument is not None
    forgotten()
    clauses = tuple(p.name for p in (*beside(c), *argument.clauses))
    question = Question(c, clauses, targets=tuple(p.name for p in argument.targets), seconds=limit)
    verdicts = {p.name: Verdict(p) for p in question.named((*clauses, *question.targets))}
    outcome = Outcome(question, list(verdicts.values()))
    chosen = [k for k, m in enumerate(pool.induction(question).moves) if only in m.label]
    for k in (-1, *chosen[:: -(-len(chosen) // most) if most else 1]):
        taken, findings = pool.answer((question, k))
        outcome.taken.append(taken)
        pool.note(verdicts, findings)
    for v in outcome.verdicts:
        if v.failing is not None:
            v.fields = tuple(rows(pool.induction(question), v.failing))
    return outcome
