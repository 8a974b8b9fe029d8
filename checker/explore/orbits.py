"""Find the state that represents an orbit, in the kernel language; compiled into models with symmetry.

Processes are coloured by what they hold and share (`own_colours`, `shared_colours`: generated), so that a renaming of
the state renames the colours. If no two have one colour, their order of colours is the renaming that is wanted.
Otherwise, as in McKay's search for a canonical labelling:

1. Of each cell (processes of one colour) find the twins: two are if exchanging them leaves the state as it is. Then
   every renaming of twins does, and in whichever order they come, the state is the same.
2. If others than twins tie, colour until no cell splits any more. Of the first cell that still ties give each of its
   processes, one for each class of twins, a colour of its own, colour again, and go on with the next cell.
3. Of the states that this search reaches, the one with the least hash represents the orbit. Two that are equal, and
   reached with equal colours, show a renaming that fixes the state (an automorphism) and maps one path of the search to
   the other. What such renamings map to each other need not be searched twice.

The number of renamings that fix the state follows by the orbit-stabilizer theorem along the first path of the search:
at each branch the orbit of the process that was chosen, under the renamings that fix those chosen before.

Colours, and states, are compared by 64-bit hashes. Equal colours of different processes only cost time; equal hashes of
different states are what the fingerprint table takes for equal, too.

If a quorum system leaves only a group of renamings (`GROUP`), each of them is tried: a search by cells would need the
group's own structure, and such systems have at most seven processes.
"""

from __future__ import annotations

from checker.explore.interface import (
    COLOUR_AT,
    GROUP,
    NODES,
    PERM_SIZE,
    RENAMING_AT,
    SPARE_AT,
    TOTAL,
    add_images,
    bytes_of,
    hash_state,
    order_by_colour,
    own_colours,
    permute,
    shared_colours,
)  # fmt: skip
from zabspec.language.layout.wrapping import count_bits, unsigned_less, wrap_add
from zabspec.language.python.lang import Bytes, State, Words
from zabspec.language.python.memory import as_bytes, copy_bytes, state_at, words_at

SALT = 0x5851F42D4C957F2D  # a process that is chosen gets a colour of its own by it

# Words of `c`: three for each process to colour with; then, by process, the least of its twins; then what was found;
# then the levels of the search: by process its colour and the least process of its orbit, then these.
FIXING = 0  # of what was found: the number of renamings that fix the state
CANDIDATES, TRIED, CHOSEN, FIRST, BEST = range(5)
RENAMING_ROWS = 4  # renamings: of the best leaf, of the one looked at, of the first, and one to try

THIS_ROW, FIRST_ROW, TRIAL_ROW = 1, 2, 3


def canonical(s: State, to: State, work: Bytes, perms: Bytes) -> int:
    """Find the representative of the orbit of a state; see `interface.canonical`."""
    c = words_at(work, COLOUR_AT)
    own_colours(s, c)
    if GROUP > 0:
        shared_colours(s, c)
        return least_of_group(s, to, work, perms)
    perm = bytes_of(work, RENAMING_AT)
    if order_by_colour(c, perm) > 0:
        shared_colours(s, c)
        if order_by_colour(c, perm) > 0:
            return among_ties(s, to, work)
    c[found_at() + FIXING] = 1
    permute(s, to, perm)
    return hash_state(to)


def fixing_renamings(work: Bytes) -> int:
    """Return how many renamings fix the state that `canonical` was called for last."""
    return words_at(work, COLOUR_AT)[found_at() + FIXING]


def twin_at() -> int:
    """Return the first of the words that have the least twin of each process."""
    return 3 * NODES


def found_at() -> int:
    """Return the first of the words that have what was found."""
    return 4 * NODES


def level_at(depth: int) -> int:
    """Return the first of the words of a level: its colours."""
    return 4 * NODES + 1 + depth * (2 * NODES + 5)


def choices_at(depth: int) -> int:
    """Return the first of the words that have which processes are chosen at a level."""
    return level_at(depth) + 2 * NODES


def renaming_row(work: Bytes, row: int) -> Bytes:
    """Return one of the renamings that are worked with."""
    return bytes_of(work, RENAMING_AT + row * PERM_SIZE)


def least_of_group(s: State, to: State, work: Bytes, perms: Bytes) -> int:
    """Try every renaming of the group: of those in which the colours come first, the state with the least hash."""
    c = words_at(work, COLOUR_AT)
    spare = state_at(work, SPARE_AT)
    best = 0
    lead = 0
    same = 0
    for which in range(GROUP):
        perm = bytes_of(perms, which * PERM_SIZE)
        old = bytes_of(perms, which * PERM_SIZE + NODES + 1)
        first = bytes_of(perms, lead * PERM_SIZE + NODES + 1)
        order = -1 if which == 0 else 0  # -1 if its colours come before those of the best, 1 if behind
        for k in range(NODES):
            if order == 0:
                if unsigned_less(c[old[k]], c[first[k]]):
                    order = -1
                elif unsigned_less(c[first[k]], c[old[k]]):
                    order = 1
        if order <= 0:
            permute(s, spare, perm)
            h = hash_state(spare)
            if order < 0 or unsigned_less(h, best):
                best = h
                lead = which
                same = 0
                copy_bytes(as_bytes(to), as_bytes(spare), TOTAL)
            if h == best:
                same = same + 1
    copy_bytes(renaming_row(work, 0), bytes_of(perms, lead * PERM_SIZE), PERM_SIZE)
    c[found_at() + FIXING] = same
    return best


def among_ties(s: State, to: State, work: Bytes) -> int:
    """Find the representative where processes have one colour; they are in the order of colours already."""
    c = words_at(work, COLOUR_AT)
    perm = renaming_row(work, 0)
    find_twins(s, work)
    if not only_twins_tie(c):
        refine_colours(s, c)
        if not only_twins_tie(c):
            return least_of_search(s, to, work)
        order_by_colour(c, perm)
    c[found_at() + FIXING] = renamings_of_twins(c)
    permute(s, to, perm)
    return hash_state(to)


# --- twins -------------------------------------------------------------------------------------


def find_twins(s: State, work: Bytes) -> None:
    """Find for each process the least of its twins.

    A cell is tried as a whole first: the exchange of two and the rotation of all generate every renaming of it.
    """
    c = words_at(work, COLOUR_AT)
    h = hash_state(s)
    for i in range(NODES):
        c[twin_at() + i] = i
    for i in range(NODES):
        if first_of_cell(c, i) and next_of_cell(c, i) < NODES:
            if cell_is_uniform(s, work, i, h):
                for j in range(NODES):
                    if c[j] == c[i]:
                        c[twin_at() + j] = i
            else:
                for j in range(NODES):
                    for k in range(NODES):
                        if k < j and c[k] == c[i] and c[j] == c[i] and c[twin_at() + j] == j and c[twin_at() + k] == k:
                            if exchange_fixes(s, work, k, j, h):
                                c[twin_at() + j] = k


def first_of_cell(c: Words, i: int) -> bool:
    """Return whether no process before i has its colour."""
    for j in range(NODES):
        if j < i and c[j] == c[i]:
            return False
    return True


def next_of_cell(c: Words, i: int) -> int:
    """Return the next process of the colour of i, or NODES."""
    for j in range(NODES):
        if j > i and c[j] == c[i]:
            return j
    return NODES


def cell_is_uniform(s: State, work: Bytes, first: int, h: int) -> bool:
    """Return whether every renaming within a cell of at least two processes fixes the state, whose hash is h."""
    c = words_at(work, COLOUR_AT)
    second = next_of_cell(c, first)
    if not exchange_fixes(s, work, first, second, h):
        return False
    if next_of_cell(c, second) == NODES:
        return True
    perm = renaming_row(work, TRIAL_ROW)
    identity_renaming(perm)
    at = first
    while at < NODES:
        following = next_of_cell(c, at)
        put_new_name(perm, at, following if following < NODES else first)
        at = following
    return trial_fixes(s, work, h)


def exchange_fixes(s: State, work: Bytes, a: int, b: int, h: int) -> bool:
    """Return whether exchanging two processes fixes the state, whose hash is h."""
    perm = renaming_row(work, TRIAL_ROW)
    identity_renaming(perm)
    put_new_name(perm, a, b)
    put_new_name(perm, b, a)
    return trial_fixes(s, work, h)


def trial_fixes(s: State, work: Bytes, h: int) -> bool:
    """Return whether the renaming to try fixes the state, whose hash is h."""
    perm = renaming_row(work, TRIAL_ROW)
    spare = state_at(work, SPARE_AT)
    add_images(perm)
    permute(s, spare, perm)
    return hash_state(spare) == h


def identity_renaming(perm: Bytes) -> None:
    """Write the renaming that changes nothing, without images of sets."""
    perm[0] = 0
    for i in range(NODES):
        put_new_name(perm, i, i)


def put_new_name(perm: Bytes, process: int, name: int) -> None:
    """Give a process a name in a renaming."""
    perm[1 + process] = name + 1
    perm[NODES + 1 + name] = process


def only_twins_tie(c: Words) -> bool:
    """Return whether processes of one colour are twins."""
    for i in range(NODES):
        for j in range(NODES):
            if j < i and c[i] == c[j] and c[twin_at() + i] != c[twin_at() + j]:
                return False
    return True


def renamings_of_twins(c: Words) -> int:
    """Return how many renamings there are within cells: the product of their factorials."""
    product = 1
    for i in range(NODES):
        before = 1
        for j in range(NODES):
            if j < i and c[j] == c[i]:
                before = before + 1
        product = product * before
    return product


# --- the search --------------------------------------------------------------------------------


def refine_colours(s: State, c: Words) -> None:
    """Colour until no cell splits any more."""
    going = True
    while going:
        before = cells_of(c)
        shared_colours(s, c)
        cells = cells_of(c)
        going = before < cells < NODES


def cells_of(c: Words) -> int:
    """Return how many colours there are."""
    cells = 0
    for i in range(NODES):
        if first_of_cell(c, i):
            cells = cells + 1
    return cells


def least_of_search(s: State, to: State, work: Bytes) -> int:
    """Search the leaves, in which only twins tie, for the one whose state has the least hash; return that."""
    c = words_at(work, COLOUR_AT)
    spare = state_at(work, SPARE_AT)
    row = renaming_row(work, THIS_ROW)
    depth = 0
    length = 0  # of the first path, once it is found
    first = 0
    first_path = 0
    best = 0
    best_path = 0
    fixing = 0
    entering = True
    while depth >= 0:
        if entering and only_twins_tie(c):
            entering = False
            order_by_colour(c, row)
            permute(s, spare, row)
            h = hash_state(spare)
            path = sum_of_colours(c)
            if fixing == 0:
                fixing = renamings_of_twins(c)
                length = depth
                first = h
                first_path = path
                copy_bytes(renaming_row(work, FIRST_ROW), row, PERM_SIZE)
                begin_orbits(c, length)
            if fixing != 0 and (best == 0 or unsigned_less(h, best)):
                best = h
                best_path = path
                copy_bytes(renaming_row(work, 0), row, PERM_SIZE)
                copy_bytes(as_bytes(to), as_bytes(spare), TOTAL)
                keep_search_path(c, depth, BEST)
                depth = depth - 1
            elif h == first and path == first_path:
                join_orbits(c, length, renaming_row(work, FIRST_ROW), row)
                depth = common_search_path(c, depth, FIRST)
            elif h == best and path == best_path:
                join_orbits(c, length, renaming_row(work, 0), row)
                depth = common_search_path(c, depth, BEST)
            else:
                depth = depth - 1
        elif entering:
            entering = False
            for i in range(NODES):
                c[level_at(depth) + i] = c[i]
            c[choices_at(depth) + CANDIDATES] = branch_candidates(c)
            c[choices_at(depth) + TRIED] = 0
        else:
            on_first = fixing != 0 and common_search_path(c, depth, FIRST) == depth
            chosen = next_candidate(c, depth, on_first)
            if chosen < 0:
                if on_first:
                    fixing = fixing * orbit_of_first(c, depth)
                depth = depth - 1
            else:
                for i in range(NODES):
                    c[i] = c[level_at(depth) + i]
                c[chosen] = c[chosen] ^ SALT
                refine_colours(s, c)
                depth = depth + 1
                entering = True
    c[found_at() + FIXING] = fixing
    return best


def sum_of_colours(c: Words) -> int:
    """Return a hash of the colours, whichever processes have them.

    A colour is a hash of all the colours that its process has had, and of whether it was chosen. So a renaming between
    leaves with equal colours maps the one path to the other: only then are the subtrees that they are in alike.
    """
    total = 0
    for i in range(NODES):
        total = wrap_add(total, c[i])
    return total


def branch_candidates(c: Words) -> int:
    """Return one process of each class of twins, in the cell of least colour in which others than twins tie."""
    least = 0
    found = 0
    for i in range(NODES):
        for j in range(NODES):
            if j < i and c[i] == c[j] and c[twin_at() + i] != c[twin_at() + j]:
                if found == 0 or unsigned_less(c[i], least):
                    least = c[i]
                    found = 1
    found = 0
    for i in range(NODES):
        if c[i] == least:
            single = True
            for j in range(NODES):
                if j < i and c[j] == least and c[twin_at() + i] == c[twin_at() + j]:
                    single = False
            if single:
                found = found | (1 << i)
    return found


def next_candidate(c: Words, depth: int, on_first: bool) -> int:
    """Choose the next process at a level, and return it; -1 if none is left.

    Args:
        on_first: the way to this level is that to the first leaf: then it is known which processes are of one orbit.
    """
    at = choices_at(depth)
    while c[at + CANDIDATES] != 0:
        left = c[at + CANDIDATES]
        chosen = count_bits((left & (0 - left)) - 1)
        c[at + CANDIDATES] = left & (left - 1)
        known = False
        if on_first:
            for i in range(NODES):
                if ((c[at + TRIED] >> i) & 1) == 1 and c[orbit_at(depth) + i] == c[orbit_at(depth) + chosen]:
                    known = True
        if not known:
            c[at + TRIED] = c[at + TRIED] | (1 << chosen)
            c[at + CHOSEN] = chosen
            return chosen
    return -1


def orbit_at(depth: int) -> int:
    """Return the first of the words that have the least process of each orbit at a level."""
    return level_at(depth) + NODES


def begin_orbits(c: Words, length: int) -> None:
    """Keep the path as the first, with the orbits under what fixes the processes chosen before each level: of twins."""
    keep_search_path(c, length, FIRST)
    for depth in range(length):
        for i in range(NODES):
            least = i
            if not chosen_above(c, depth, i):
                for j in range(NODES):
                    if j < least and c[twin_at() + i] == c[twin_at() + j] and not chosen_above(c, depth, j):
                        least = j
            c[orbit_at(depth) + i] = least


def chosen_above(c: Words, depth: int, i: int) -> bool:
    """Return whether a process was chosen above a level of the first path."""
    for above in range(depth):
        if c[choices_at(above) + FIRST] == i:
            return True
    return False


def keep_search_path(c: Words, length: int, which: int) -> None:
    """Keep the processes chosen on the path."""
    for depth in range(length):
        c[choices_at(depth) + which] = c[choices_at(depth) + CHOSEN]


def common_search_path(c: Words, length: int, which: int) -> int:
    """Return the number of levels down to which the path, of a length, is the one that was kept."""
    for depth in range(length):
        if c[choices_at(depth) + which] != c[choices_at(depth) + CHOSEN]:
            return depth
    return length


def join_orbits(c: Words, length: int, one: Bytes, other: Bytes) -> None:
    """Join the orbits that a renaming joins: the one that two renamings to the same state differ by."""
    depth = 0
    fixed = True
    while depth < length and fixed:
        for i in range(NODES):
            a = c[orbit_at(depth) + i]
            b = c[orbit_at(depth) + image_between(one, other, i)]
            for j in range(NODES):
                if a < b and c[orbit_at(depth) + j] == b:
                    c[orbit_at(depth) + j] = a
                elif b < a and c[orbit_at(depth) + j] == a:
                    c[orbit_at(depth) + j] = b
        fixed = image_between(one, other, c[choices_at(depth) + FIRST]) == c[choices_at(depth) + FIRST]
        depth = depth + 1


def image_between(one: Bytes, other: Bytes, i: int) -> int:
    """Return the process that the second renaming puts where the first puts i."""
    return other[NODES + 1 + one[1 + i] - 1]


def orbit_of_first(c: Words, depth: int) -> int:
    """Return the size of the orbit of the process that the first path chose at a level."""
    size = 0
    for i in range(NODES):
        if c[orbit_at(depth) + i] == c[orbit_at(depth) + c[choices_at(depth) + FIRST]]:
            size = size + 1
    return size
