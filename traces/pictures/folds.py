"""Fold the stretches of a run in which nothing notable happens, alike in the diagram and in the text."""

from __future__ import annotations

from itertools import groupby

from traces.pictures.picture import Picture

LEAST = 5  # steps of a stretch that is folded
MOST_KINDS = 6  # of steps that are named in place of a stretch
NEAR = 1  # steps next to a named one that stay unfolded


def parts(picture: Picture) -> list[tuple[int, int, bool]]:
    """Return the parts of a run, in order: the first step, the last one, and whether the part is folded.

    A step is shown if the explanation names it or a message of it, if it is a fault, or if something is marked in it.
    Where no such step exists, all of them stay unfolded.
    """
    rows = picture.rows
    named = {n for a in picture.arrows if a.named for n in (a.flight.sent, a.flight.ended)}
    told = [bool(r.named or r.fault or r.marks or r.number in named) for r in rows]
    if not any(told):
        return [(1, len(rows), False)] if rows else []
    kept = [any(told[max(0, k - NEAR) : k + NEAR + 1]) for k in range(len(rows))]
    out: list[tuple[int, int, bool]] = []
    for keep, group in groupby(enumerate(kept, 1), key=lambda each: each[1]):
        numbers = [number for number, _ in group]
        first, last, fold = numbers[0], numbers[-1], not keep and len(numbers) >= LEAST
        if out and not fold and not out[-1][2]:
            out[-1] = (out[-1][0], last, False)
        else:
            out.append((first, last, fold))
    return out


def what_happens(picture: Picture, first: int, last: int) -> str:
    """Return the kinds of the steps from `first` to `last`, in the order in which they first occur."""
    said = [row.headline.partition(": ")[2] or row.headline for row in picture.rows[first - 1 : last]]
    kinds = dict.fromkeys(
        x.partition(" on ")[2].partition(" ")[0] or x.partition(",")[0].partition(" (")[0] for x in said
    )
    named = list(kinds)[:MOST_KINDS]
    return ", ".join(named) + (f" and {len(kinds) - len(named)} more kinds" if len(kinds) > len(named) else "")
