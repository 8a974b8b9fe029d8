"""Linear probing, in the kernel language: how every table of fingerprints is searched.

A table holds nonzero words. It occupies the entries `begin` to `end` of an array, has at least one entry that is 0,
which is a free one, and is searched in a circle.
"""

from __future__ import annotations

from zabspec.language.python.lang import Words, inlined


@inlined
def probe(table: Words, place: int, begin: int, end: int, wanted: int) -> int:
    """Return the entry of a table that holds a word, or the free entry where the search for it ends.

    The caller distinguishes the two by `table[place] != 0`.

    Args:
        place: the entry where the search begins.
        wanted: the word; 0 to find the first free entry.
    """
    while table[place] != 0 and table[place] != wanted:
        place = place + 1
        if place == end:
            place = begin
    return place
