"""Read JSON that has one meaning only."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any


def strict_json(data: bytes) -> Any:
    """Parse a JSON text that has one meaning only.

    It must be UTF-8, without a repeated name in an object, NaN, infinity, or half of a surrogate pair.

    Raises:
        ValueError: the text is not of that form; a JSONDecodeError, which has the line, where it is not JSON at all.
    """
    try:
        text = data.decode()
        value = json.loads(text, object_pairs_hook=without_repeats, parse_constant=refused, parse_float=finite)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it has half a character (a lone surrogate)") from None
    return value


def without_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dictionary.

    Raises:
        ValueError: a name is repeated, so that two readers might take different values.
    """
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        name = next(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(f"it has {name!a} twice in one object")
    return value


def finite(digits: str) -> float:
    """Parse a float.

    Raises:
        ValueError: the number is too large for a float.
    """
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"it has {digits[:40]}, which is too large a number")
    return value


def refused(constant: str) -> Any:
    """Refuse a constant that Python accepts and JSON does not have.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"it has {constant}, which is not JSON")
