"""Which transactions the rows of a run are of, where they do not say all of it: every way there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["COMPLETIONS", "Key", "completions", "united"]

COMPLETIONS = 128  # ways that are gone through
Key = tuple[int | None, ...]


def completions(keys: Mapping[int, Key], most: int = COMPLETIONS) -> list[dict[int, int]] | None:
    """Every way in which the rows of a run may be of transactions: a number for each row, the same for the
    same transaction. None: there are more than so many."""
    numbered: dict[Key, int] = {}
    known = {r: numbered.setdefault(key, len(numbered)) for r, key in keys.items() if None not in key}
    # classes of rows with the same transaction, each with what is known of it
    ways: list[tuple[dict[int, int], list[Key]]] = [(known, list(numbered))]
    for row, key in keys.items():
        if row in known:
            continue
        longer = []
        for of, classes in ways:
            for number, other in enumerate(classes):
                both = united(key, other)
                if both is not None:
                    longer.append((of | {row: number}, [*classes[:number], both, *classes[number + 1 :]]))
            longer.append((of | {row: len(classes)}, [*classes, key]))
        if len(longer) > most:
            return None
        ways = longer
    return [of for of, classes in ways if told_apart(classes)]


def united(one: Key, other: Key) -> Key | None:
    """What two rows say of one thing, column by column; None if they cannot be of one."""
    if any(a is not None and b is not None and a != b for a, b in zip(one, other, strict=True)):
        return None
    return tuple(b if a is None else a for a, b in zip(one, other, strict=True))


def told_apart(classes: Sequence[Key]) -> bool:
    """Whether no two classes are known to be one."""
    full = [key for key in classes if None not in key]
    return len(set(full)) == len(full)
