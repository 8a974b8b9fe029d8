"""Find properties that can never be False: no run puts them to the test, whatever their witness says.

What a property may return is worked out from the declared ranges (`language/analysis/intervals.py`); if False is not
among it, the property cannot fail. Nor can it if it is False in none of the cases that there are of what it reads
(`cases.py`), where there are not too many.
"""

from __future__ import annotations

from collections.abc import Iterable

from zabspec.authoring.cases import never_false_in_any_case
from zabspec.language.analysis.intervals import Intervals
from zabspec.language.front.frontend import FrontEnd
from zabspec.model import Model
from zabspec.properties import DEADLOCK


def never_false(model: Model, functions: Iterable[str], front: FrontEnd) -> dict[str, str]:
    """Return those of a user protocol's properties that can never be False: their functions' names, with their lines.

    Args:
        model: of the protocol; of a protocol of this project there are none.
        functions: those that decide the properties.
        front: of the model, with the properties in its namespace.

    Raises:
        LanguageError: one is outside the language.
    """
    text, out = model.protocol.text, {}
    for name in functions:
        front.function(name)
        asked = text.through.get(name, name)  # for a property of messages, the check of each message
        typed = front.program.functions
        if Intervals(typed).result(name, {})[0] > 0 or never_false_in_any_case(typed, asked):
            out[name] = text.source if name == DEADLOCK else f"{text.source}:{front.function(asked).line}"
    return out
