"""Compile a model to machine code, with the kernel of random walks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from checker.explore import compiled
from checker.explore.compiled import I64, PTR, Compiled
from checker.search import kernel
from invariants.registry import Property
from zabspec.model import Model

# what a search, and its second opinion, call beside its walks; the rest of the kernel need not be compiled
SHARED = ("take", "successors", "look_at_one_state", "judge_one_step", "fingerprint")


class SearchCode(Compiled):
    """A model and its properties, without symmetry, which is of no use to a walk."""

    also_modules = (kernel,)
    exports = {name: compiled.EXPORTS[name] for name in SHARED} | {"random_walks": (I64, *(PTR,) * 5)}

    random_walks: Any

    def __init__(self, model: Model, properties: Sequence[Property], symmetry: bool = False) -> None:
        super().__init__(model, properties, False)

    def also_key(self) -> tuple[object, ...]:
        return ("search", *super().also_key())
