"""Whether an exploration may leave out receipts that change nothing but the mail.

Over datagrams such a message may as well take longer: the state in which it is still in flight has every step
that the state without it has. So nothing is lost to whoever does not look at what is in flight. Who does look may
tell the two apart: "a token is held or in flight" breaks where the token is taken and dropped. What is said of every
message in flight, or of every two, is said of fewer where one is gone, so it cannot break there first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from invariants.registry import Property
from zabspec.language import derive
from zabspec.language.frontend import FrontEnd
from zabspec.language.schema import Role
from zabspec.model import Model

__all__ = ["leaves_idle_out"]


def leaves_idle_out(model: Model, properties: Iterable[Property], front: FrontEnd) -> bool:
    """Whether receipts that change nothing are no steps: over datagrams, where no property looks at the mail.

    Args:
        model: what is explored.
        properties: what is judged.
        front: has their names.

    Raises:
        LanguageError: one is outside the language.
    """
    layout = model.program.layout
    if not derive.skips(layout):
        return False
    mail = {f.name for f in layout.schema.fields if f.role is Role.NETWORK}
    text = model.protocol.text
    asks: Mapping[str, str] = text.through if text is not None else {}  # of every message, by what asks it
    looked_at: set[str] = set()
    for p in properties:
        for name in (asks.get(p.holds.__name__, p.holds.__name__), p.witness.__name__):
            front.function(name)
            looked_at |= front.program.reads[name]
    return not looked_at & mail
