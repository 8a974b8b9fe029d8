"""Source of small witnesses and properties, for the protocols that tests write."""

from __future__ import annotations


def some(name: str, condition: str, sentence: str) -> str:
    """Return the source of a witness: the condition is true of some process `p`."""
    return _over_processes(name, condition, sentence, False)


def never(name: str, condition: str, sentence: str, witness: str) -> str:
    """Return the source of a safety property: the condition is true of no process `p`."""
    return f"@safety(witness={witness})\n{_over_processes(name, condition, sentence, True)}"


def _over_processes(name: str, condition: str, sentence: str, otherwise: bool) -> str:
    return f'''def {name}(s: State) -> bool:
    """{sentence}"""
    for p in range(s.NODES):
        if {condition}:
            return {not otherwise}
    return {otherwise}


'''
