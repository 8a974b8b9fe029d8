"""Find properties that can never be False."""

from __future__ import annotations

from collections.abc import Sequence

from invariants.binding import full_namespace
from invariants.registry import Property
from zabspec.authoring.vacuous import never_false
from zabspec.model import Model


def vacuous(model: Model, judged: Sequence[Property]) -> dict[str, str]:
    """Return the properties that can never be False, each with its line; only those of user protocols are examined."""
    if model.protocol.text.released:
        return {}
    front = model.program.front_end(full_namespace(model))
    found = never_false(model, [p.holds.__name__ for p in judged], front)
    return {p.name: found[p.holds.__name__] for p in judged if p.holds.__name__ in found}
