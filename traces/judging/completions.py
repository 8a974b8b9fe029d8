"""Enumerate which transactions the rows of a run may belong to, where they leave it open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

COMPLETIONS = 128  # ways that are gone through
Key = tuple[int | None, ...]


def completions(keys: Mapping[int, Key], most: int = COMPLETIONS) -> list[dict[int, int]] | None:
    """Return every way in which the rows of a run may belong to transactions; None if there are more than `most`.

    Args:
        keys: the known key columns by row, with None for unknown ones.
        most: the maximum number of ways.

    Returns:
        For each way a number by row; equal numbers are the same transaction.
    """
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
    """Return the combined values of two rows, column by column; None if they contradict each other."""
    if any(a is not None and b is not None and a != b for a, b in zip(one, other, strict=True)):
        return None
    return tuple(b if a is None else a for a, b in zip(one, other, strict=True))


def told_apart(classes: Sequence[Key]) -> bool:
    """Return whether no two classes are known to be the same transaction."""
    full = [key for key in classes if None not in key]
    return len(set(full)) == len(full)
