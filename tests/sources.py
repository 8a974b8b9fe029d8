"""Source of small witnesses and properties, for the protocols that tests write."""

from __future__ import annotations


def some(name: str, condition: str, sentence: str) -> str:
    """Return the source of a witness: the condition is true of some process `p`."""
    return _over_processes(name, condition, sentence, False)


def never(name: str, condition: str, sentence: str, witness: str) -> str:
    """Return the source of a safety property: the condition is true of no process `p`."""
    return f"@safety(witness={witness})\n{_over_processes(name, condition, sentence, True)}"


# Of protocols over connections whose processes have a role and a leader.
ROLES = """class State(Fields):
    role: Each[Node, Annotated[int, OneOf("LOOKING", "FOLLOWING", "LEADING")]] = volatile("where it stands")
    leader: Each[Node, Node] = volatile("whom it follows")
"""
LEADS_OR_FOLLOWS = """def on_oracle(s: State, p: Node, l: Node) -> None:
    if l == p:
        s.role[p] = LEADING
    else:
        s.role[p] = FOLLOWING
        s.leader[p] = l
        connect(s, p, l)
        send_to_leader(s, p, HELLO())


"""
FOLLOWS_ITSELF = """def on_oracle(s: State, p: Node, l: Node) -> None:
    s.leader[p] = l
    s.role[p] = LEADING if l == p else FOLLOWING
    connect(s, p, l)
    send_to_leader(s, p, HELLO())


@observation
def give_up(s: State, p: Node) -> None:
    s.gave_up = True


@observation
def heard(s: State, l: Node) -> None:
    if s.gave_up:
        s.heard_since = True
"""
BOUNDED = """PROTOCOL = declare(
    __name__, world="connections", bounded_by_world=True, transactions=True
)
"""
LOOK = """def look(s: State, p: Node) -> None:
    disconnect(s, p)
    s.role[p] = LOOKING
    s.leader[p] = NOBODY
"""


def _over_processes(name: str, condition: str, sentence: str, otherwise: bool) -> str:
    return f'''def {name}(s: State) -> bool:
    """{sentence}"""
    for p in range(s.NODES):
        if {condition}:
            return {not otherwise}
    return {otherwise}


'''
