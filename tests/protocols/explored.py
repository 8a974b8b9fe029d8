"""Unsafe variants of zab, and the spaces of states that they are looked for in."""

from __future__ import annotations

from functools import cache

from checker.ci.variants import shown
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Exploration, Limits
from invariants import PROPERTIES
from zabspec.model import Configuration, Model
from zabspec.protocols.zab_variants import VARIANTS

JUDGED = tuple(p for p in PROPERTIES if p.default and p.judges("zab"))
SHOWN = shown("zab")
UNSAFE = [SHOWN[v.name] for v in VARIANTS.values() if not v.safe]

# Spaces of hundreds of thousands of states are looked through to a level beyond where something breaks there.
FAR = {"no-promise": 34, "late-cepoch-unchecked": 30, "epoch-then-history": 42, "ack-then-history": 30}


def reach(c: Configuration) -> int | None:
    """How deep a space is looked through; none: to its end."""
    return FAR.get(c.variant)


@cache
def explored(c: Configuration) -> Exploration:
    """The whole space as far as it is looked through, past violations, up to renaming."""
    model = Model(c)
    code = Compiled(model, JUDGED, symmetry=not model.fails)
    assert not code.asymmetry
    return Explorer(code, 1).run(Limits(depth=reach(c)), keep_going=True)
