"""Whether renaming processes commutes with stepping, put to the test before it is relied on.

Symmetry merges a state with its renamings. That is sound when the steps of a renamed state are
the renamed steps, and every property says the same of both. The texts of this project are
symmetric by construction (they compare processes for equality only) and the tests check all of
them at length; this check is for a protocol, variant or property that is not.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, Protocol

from invariants.registry import STEP, Property
from zabspec.language.schema import Layout
from zabspec.model import Model

__all__ = ["Stepped", "why_not_symmetric"]


class Stepped(Protocol):
    """What the check asks of a compiled model."""

    model: Model
    layout: Layout
    properties: tuple[Property, ...]
    judge_state: Any
    witness_state: Any

    def next_states(self, data: bytes) -> Sequence[tuple[int, bytes]]:
        """The steps possible in a state, each with the state after it."""

    def canonical(self, data: bytes) -> tuple[int, bytes]:
        """The fingerprint of a state's orbit, and the state that stands for it."""

    def rename(self, data: bytes, which: int) -> bytes:
        """The state under one of the renamings; number 0 changes nothing."""

    def state(self, data: bytes) -> Any:
        """A state in memory that the kernel can read."""


def why_not_symmetric(code: Stepped, walks: int = 16, length: int = 40, seed: int = 19) -> str:
    """One sentence saying what fails to commute; empty when nothing does.

    Args:
        code: compiled with symmetry.
        walks: random walks from the initial state, each of at most `length` steps; every state of
            a walk is compared with one of its renamings.
    """
    source = random.Random(seed)
    size = code.layout.size
    renamings = math.factorial(code.layout.schema.nodes)
    if renamings == 1:
        return ""
    states = sum(1 << k for k, p in enumerate(code.properties) if p.of != STEP)
    initial = code.model.program.initial().key()
    for _ in range(walks):
        data = initial
        for _ in range(length):
            successors = [after[:size] for _, after in code.next_states(data)]
            if not successors:
                break
            other = code.rename(data, source.randrange(1, renamings))
            if code.canonical(other) != code.canonical(data):
                return "a renamed state is not recognised as the same"
            images = sorted(code.canonical(s)[0] for s in successors)
            if sorted(code.canonical(after[:size])[0] for _, after in code.next_states(other)) != images:
                return "the steps of a renamed state are not its renamed steps"
            both = [code.state(data), code.state(other)]
            said = [(code.judge_state(s, states), code.witness_state(s, states)) for s in both]
            if said[0] != said[1]:
                return "a property tells a state from its renaming"
            data = source.choice(successors)
    return ""
