"""Small protocols that tell readings of fairness apart."""

from __future__ import annotations

# A protocol whose handlers do what a table in its state says: a table costs no compilation.
RULES = ("rule_begin", "rule_a", "rule_c", "rule_may", "rule_step")
TABLES = '''"""What is sent, and to whom, is said by the environment."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, MessageType, Node, Range, action, declare, environment, progress, receives, safety, send, volatile,
)  # fmt: skip

Rule = Annotated[int, Range(0, 255)]


class A(MessageType): ...


class B(MessageType): ...


class C(MessageType): ...


class State(Fields):
    rule_begin: Rule = environment("what is sent at first")
    rule_a: Rule = environment("on receipt of A")
    rule_c: Rule = environment("on receipt of C")
    rule_may: Rule = environment("when the step may be taken")
    rule_step: Rule = environment("what it does")
    begun: Each[Node, bool] = volatile("it waits for B")
    got: Each[Node, bool] = volatile("it got B")
    phase: Each[Node, Annotated[int, Range(0, 1)]] = volatile("any number")


def one(s: State, p: Node, source: Node, rule: int) -> None:
    """Send one message, or none: to the sender, or to oneself."""
    if rule & 3 == 1:
        if rule & 4 == 4:
            send(s, p, p, A())
        else:
            send(s, p, source, A())
    if rule & 3 == 2:
        if rule & 4 == 4:
            send(s, p, p, B())
        else:
            send(s, p, source, B())
    if rule & 3 == 3:
        if rule & 4 == 4:
            send(s, p, p, C())
        else:
            send(s, p, source, C())


def does(s: State, p: Node, source: Node, rule: int) -> None:
    """In one of two phases what the rule says, in the other the second half; then the phase may change."""
    if s.phase[p] == 0:
        one(s, p, source, rule & 7)
    else:
        one(s, p, source, (rule >> 3) & 7)
    if rule & 64 == 64:
        s.phase[p] = 1 - s.phase[p]
    if rule & 128 == 128:
        s.phase[p] = 0


def fresh(s: State, p: Node) -> bool:
    return not s.begun[p]


@action(when=fresh, fair=False)
def begin(s: State, p: Node) -> None:
    s.begun[p] = True
    for q in range(s.NODES):
        if q != p:
            one(s, p, q, s.rule_begin & 7)
            one(s, p, q, (s.rule_begin >> 3) & 7)


@receives
def on_receipt_of_a(s: State, p: Node, source: Node, m: A) -> None:
    does(s, p, source, s.rule_a)


@receives
def on_receipt_of_b(s: State, p: Node, source: Node, m: B) -> None:
    s.got[p] = True


@receives
def on_receipt_of_c(s: State, p: Node, source: Node, m: C) -> None:
    does(s, p, source, s.rule_c)


def may_step(s: State, p: Node) -> bool:
    if not s.begun[p] or s.got[p]:
        return False
    return s.rule_may & 3 == 3 or (s.rule_may & 3 == 2 and s.phase[p] == 0) or (s.rule_may & 3 == 1 and s.phase[p] == 1)


@action(when=may_step)
def step(s: State, p: Node) -> None:
    if s.rule_step & 3 == 1:
        s.phase[p] = 1 - s.phase[p]
    if s.rule_step & 3 == 2 and s.phase[p] == 1:
        s.got[p] = True


def may_turn(s: State, p: Node) -> bool:
    return s.begun[p] and s.rule_may & 4 == 4


@action(when=may_turn)
def turn(s: State, p: Node) -> None:
    s.phase[p] = 1 - s.phase[p]


def some(s: State) -> bool:
    """Somebody has begun."""
    return s.begun[0]


@safety(witness=some)
def fine(s: State) -> bool:
    """A rule is a byte."""
    return s.rule_may < 256


@progress
def gets(s: State, p: Node) -> bool:
    """Whoever waits for B gets it."""
    return s.begun[p] and not s.got[p]


@progress(again=True)
def turns(s: State, p: Node) -> bool:
    """Whoever is in phase 1 leaves it for good."""
    return s.phase[p] == 1


PROTOCOL = declare(__name__, nodes=2, network="datagrams", budgets={"crashes": 1})
'''


MARKED = '''"""Actions of every fairness; when each can be taken, and what it does, is said by a table."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Node, Range, action, declare, environment, progress, volatile

{constants}

class State(Fields):
    phase: Each[Node, Annotated[int, Range(0, 3)]] = volatile("any number")
    {rules}

{actions}
@progress
def leaves(s: State, p: Node) -> bool:
    """Whoever is in some phases comes to others."""
    return ({goal} >> s.phase[p]) & 1 == 1


@progress(again=True)
def settles(s: State, p: Node) -> bool:
    """Whoever is in some phases leaves them for good."""
    return ({goal} >> s.phase[p]) & 1 == 1


PROTOCOL = declare(__name__, nodes=2)
'''
MARKS = ("", 'fair="strong"', 'fair_to="action"', 'fair="strong", fair_to="action"', "fair=False")
TABLE = (*(f"rule_{k}" for k in range(len(MARKS))), "rule_goal")
MARKED_ACTION = """
def may_{k}(s: State, p: Node) -> bool:
    return ({rule} >> s.phase[p]) & 1 == 1


@action(when=may_{k}{mark})
def acts_{k}(s: State, p: Node) -> None:
    s.phase[p] = ({rule} >> (4 + 2 * s.phase[p])) & 3

"""


def marked(table: dict[str, int] | None = None) -> str:
    """A protocol whose actions are fair in every way.

    Args:
        table: constants of the text; None: the environment has it.
    """
    said = {name: f"s.{name}" if table is None else name.upper() for name in TABLE}
    rules = [f'{name}: Annotated[int, Range(0, 4095)] = environment("of the table")' for name in TABLE]
    actions = [
        MARKED_ACTION.format(k=k, rule=said[f"rule_{k}"], mark=f", {mark}" if mark else "")
        for k, mark in enumerate(MARKS)
    ]
    constants = "".join(f"{name.upper()} = {value}\n" for name, value in (table or {}).items())
    return MARKED.format(
        constants=constants, rules="\n    ".join(rules) if table is None else "", actions="".join(actions),
        goal=said["rule_goal"],
    )  # fmt: skip
