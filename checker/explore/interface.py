"""The names that kernels use without defining them: those that a model's compilation binds, with their contracts.

A kernel imports its names from here, so that editors, mypy and ruff resolve them. When a model is compiled
(`checker/explore/compiled.py`), each declaration is replaced by what the model binds to it:

- a constant by a number that follows from the model's sizes (`Compiled.numbers`);
- a function by one of the program or by one that is generated from the schema, the properties or the footprints;
- a hook by the kernel of a reduction, if the model is compiled with it. Otherwise its body here stays, which does
  nothing and which LLVM inlines away.

`checker/explore/binding.py` refuses a name that is imported and not bound, one that is bound and not declared, and one
that is bound with another signature. In CPython a constant or function from here raises `NotBound` when it is used.

Three conventions hold for all functions:

- `parent` (or `before`) is the state a step was taken in; `child` (or `after`) is the state after it, with its step
  annotations. A function writes to a state only where its contract says so. Judging functions note an error in
  `s.error` of the state they read.
- `word` is a step: kind << 24 | operands a << 16, b << 8 and c; `word | choice << 32` is one of its alternatives.
- `work` is a thread's own memory. The `..._AT` constants are the offsets of its parts in bytes.
"""

from __future__ import annotations

from checker.explore.binding import NotBound, declared
from zabspec.language.python.lang import Bytes, Node, State, Words

# --- constants: sizes and offsets --------------------------------------------------------------

SYMMETRY: bool = declared("states that are renamings of each other count once")
NODES: int = declared("how many processes there are")
RENAMINGS: int = declared("how many renamings of the processes there are; 1 without symmetry")
GROUP: int = declared("how many renamings `perms` has, if not all that keep roles are renamings; otherwise 0")
PERM_SIZE: int = declared("bytes of a renaming, as machine code reads it (`derive.RenamingTable`)")
TOTAL: int = declared("bytes of a state in memory, with its step annotations")
PROPERTIES: int = declared("how many properties are judged")
TERMINALS: int = declared("the properties of terminal states, as a mask")
MOST_STEPS: int = declared("how many steps `enabled` lists at most")
HEADER: int = declared("bytes of a candidate before its packed state")
PACKED_LIMIT: int = declared("bytes of a packed state at most")
MARGIN: int = declared("bytes that a group's buffer keeps free: room for the successors of one state")

STEPS_AT: int = declared("words: how many steps are possible, then their words")
META_AT: int = declared("four words for each successor in the ring: fingerprint, place, parent, what is known of it")
QUIET_AT: int = declared("as STEPS_AT, for the steps of a successor: whether it is terminal")
COLOUR_AT: int = declared("words that `canonical` works in")
RENAMING_AT: int = declared("renamings that `canonical` works with; the first maps its state to the representative")
SPARE_AT: int = declared("a state that `canonical` works in")
RING_AT: int = declared("the successors in the ring")
IMAGE_AT: int = declared("for each of them, the state that is visited for it: for its orbit, and for its class")

# --- constants of one kernel -------------------------------------------------------------------

MERGES: bool = declared("what was observed is hashed and compared by its class")
VALUE_WORDS: int = declared("words of a value of the derived observers")
OBSERVERS_AT: int = declared("what the kernel knows of classes of values, and the value that a successor had")
CODED_AT: int = declared("a value to work in")
AMPLE_AT: int = declared("four words: what `choose_ample` found of the state being expanded")

WIDE: bool = declared("fingerprints have 128 bits")

EXACT: bool = declared("two states are the same only if their bytes are")
GIVES_UP: int = declared("the kind of step by which a process gives up")
BEATS: int = declared("the kind of step by which a leader's timer fires")
RECEIPTS: int = declared("the first class of fair steps that receive something")


# --- the world ---------------------------------------------------------------------------------


def enabled(s: State, out: Words) -> None:
    """List the steps that are possible in a state: `out[0]` is their number, then come their words in a fixed order.

    `s.error` is set if that cannot be determined.
    """
    raise NotBound("enabled")


def apply(s: State, word: int) -> None:
    """Take a step in place: `s` becomes the state after it, with its step annotations.

    `s.choices` is the number of alternatives of the step. `s.error` is set if a value leaves its range: the state then
    is meaningless.
    """
    raise NotBound("apply")


# --- generated from the schema -----------------------------------------------------------------


def pack(s: State, out: Bytes) -> int:
    """Write a state without its step annotations in few bytes; return their number."""
    raise NotBound("pack")


def unpack(source: Bytes, s: State) -> int:
    """Read a packed state, and clear the step annotations; return the number of its bytes."""
    raise NotBound("unpack")


def bytes_of(b: Bytes, at: int) -> Bytes:
    """Return the memory from an offset on."""
    raise NotBound("bytes_of")


def hash_state(s: State) -> int:
    """Return the fingerprint of a state, which is never 0. The order of messages in a bag does not change it."""
    raise NotBound("hash_state")


def hash_second(s: State) -> int:
    """Return a second, independent fingerprint, which is never 0 (with WIDE)."""
    raise NotBound("hash_second")


def permute(s: State, to: State, perm: Bytes) -> None:
    """Write to `to` the state that a renaming makes of `s` (with SYMMETRY)."""
    raise NotBound("permute")


def add_images(perm: Bytes) -> None:
    """Complete a renaming that has the new and old names by the images of sets (with SYMMETRY)."""
    raise NotBound("add_images")


def own_colours(s: State, c: Words) -> None:
    """Write to `c` a colour for each process, by what it holds: a renaming of `s` renames them (with SYMMETRY)."""
    raise NotBound("own_colours")


def shared_colours(s: State, c: Words) -> None:
    """Refine colours by what each process shares with processes of each colour; `c` has three words for each."""
    raise NotBound("shared_colours")


def order_by_colour(c: Words, perm: Bytes) -> int:
    """Write the renaming that orders processes by colour; return how many pairs have one colour (with SYMMETRY)."""
    raise NotBound("order_by_colour")


# --- the kernel of symmetry (checker/explore/orbits.py) -----------------------------------------


def canonical(s: State, to: State, work: Bytes, perms: Bytes) -> int:
    """Write the state that represents the orbit of `s`, and return its fingerprint (with SYMMETRY).

    Then the renaming at RENAMING_AT maps `s` to that state.

    Args:
        to: written.
        perms: the renamings, if they are a group of their own (GROUP).
    """
    raise NotBound("canonical")


def fixing_renamings(work: Bytes) -> int:
    """Return how many renamings fix the state that `canonical` was called for last (with SYMMETRY)."""
    raise NotBound("fixing_renamings")


# --- generated from the properties -------------------------------------------------------------


def judge(s: State, live: int, changed: bool) -> int:
    """Return which of the state properties in the mask `live` a state violates.

    Properties of the observed history alone are judged only if it `changed` with the step that led here. `s.error` is
    set if a property reads past an end: then the mask is meaningless, and each is to be judged separately.
    """
    raise NotBound("judge")


def witness(s: State, want: int, changed: bool) -> int:
    """Return for which of the state properties in the mask `want` a state meets the premise; otherwise as `judge`."""
    raise NotBound("witness")


def judge_step(before: State, after: State, live: int) -> int:
    """Return which of the step properties in the mask `live` a step violates.

    `before.error` or `after.error` is set if a property reads past an end.
    """
    raise NotBound("judge_step")


def witness_step(before: State, after: State, want: int) -> int:
    """Return for which of the step properties in the mask `want` a step meets the premise.

    Otherwise as `judge_step`.
    """
    raise NotBound("witness_step")


def observed_changed(before: State, after: State) -> bool:
    """Return whether a step changed the observed history."""
    raise NotBound("observed_changed")


def what_changed(s: State) -> int:
    """Return which steps relevant to state properties led to a state: 15 bits for `judged_after`."""
    raise NotBound("what_changed")


def judged_after(entered: int) -> int:
    """Return the properties that such steps can change, as a mask."""
    raise NotBound("judged_after")


# --- ample sets: generated from footprints and properties --------------------------------------


def steps_commute(s: State) -> bool:
    """Return whether the world's declarations of independence are true in a state."""
    raise NotBound("steps_commute")


def is_ample(s: State, p: Node) -> bool:
    """Return whether process p is a candidate for an ample set: until it steps, no step of another concerns it."""
    raise NotBound("is_ample")


def is_free(s: State, word: int) -> bool:
    """Return whether a step of an ample process is independent of every step of every other process."""
    raise NotBound("is_free")


def remaining_work(s: State) -> int:
    """Return the number of steps that ample processes can take until none is left: the ranking function of the proviso.

    It is not generated: the world's source has it (`zabspec/worlds/connections.py`).
    """
    raise NotBound("remaining_work")


def visible_changed(before: State, after: State) -> bool:
    """Return whether a step changed a field that some state property reads."""
    raise NotBound("visible_changed")


# --- ghost abstraction -------------------------------------------------------------------------


def value_of(s: State, out: Words) -> None:
    """Read the value of the derived observers: `VALUE_WORDS` words."""
    raise NotBound("value_of")


def put_value(s: State, value: Words) -> None:
    """Write a value in its place in a state, over another value or the number of a class."""
    raise NotBound("put_value")


def put_raw(s: State) -> None:
    """Clear all of a value except the part that the protocol sees."""
    raise NotBound("put_raw")


def put_class(s: State, number: int) -> None:
    """Write the number of a class in the place of a value, in bits that a renaming moves and does not change."""
    raise NotBound("put_class")


def coded_class(s: State) -> int:
    """Read the number of a class."""
    raise NotBound("coded_class")


def breaks_alone(s: State) -> bool:
    """Return whether the value of a state violates a property of values, or judging it fails; `s.error` is 0 then."""
    raise NotBound("breaks_alone")


def breaks_expected(s: State) -> bool:
    """Return whether a state violates a property that is expected to hold and not judged, or judging fails.

    `s.error` is 0.
    """
    raise NotBound("breaks_expected")


def observe(s: State, letter: int, p: int, e: int, c: int) -> int:
    """Take a letter, in place; return what the protocol receives, from 1, or 0; -1 if no such call is possible."""
    raise NotBound("observe")


# --- the stable phase (zabspec/live/, checker/live/code.py) -------------------------------------


def stable_begins(s: State, named: Node) -> bool:
    """Return whether the stable phase may begin in a state, with one process named."""
    raise NotBound("stable_begins")


def stable_lasts(s: State, named: Node) -> bool:
    """Return whether the assumptions of the stable phase still hold after a step."""
    raise NotBound("stable_lasts")


def stable_takes(s: State, word: int, named: Node) -> bool:
    """Return whether a step of the world is possible in the stable phase, too."""
    raise NotBound("stable_takes")


def stable_waits(s: State, p: Node, named: Node) -> bool:
    """Return whether a process can give up, or would have to: the class of such steps is enabled."""
    raise NotBound("stable_waits")


def stable_gives_up(s: State, p: Node, named: Node) -> bool:
    """Return whether a process may give up now."""
    raise NotBound("stable_gives_up")


def stable_give_up(s: State, word: int) -> None:
    """Take, in place, the step by which a process gives up."""
    raise NotBound("stable_give_up")


def stable_beat_due(s: State, p: Node) -> bool:
    """Return whether the class of a leader's timer is enabled."""
    raise NotBound("stable_beat_due")


def stable_beats(s: State, p: Node) -> bool:
    """Return whether a leader's timer may fire now."""
    raise NotBound("stable_beats")


def stable_beat(s: State, word: int) -> None:
    """Take, in place, the step of a leader's timer."""
    raise NotBound("stable_beat")


def forget_budgets(s: State) -> None:
    """Set every budget of faults to 0, in place."""
    raise NotBound("forget_budgets")


def class_of(word: int) -> int:
    """Return the class of fair steps that a step belongs to, or UNFAIR."""
    raise NotBound("class_of")


def waits_of(s: State, named: Node) -> int:
    """Return the progress properties that wait in a state: a bit for each and its process."""
    raise NotBound("waits_of")


# --- hooks -------------------------------------------------------------------------------------
#
# `expand` calls these for every model. If a reduction is off, the body is the one below.


def stutters(before: State, after: State) -> bool:
    """Stuttering receipts: return whether a step is one, so that its successor may be left out.

    Contract: every step that is possible in `after` is possible in `before`, leads there to a state that differs in
    the same way, and is judged alike; no property distinguishes the two states. A state whose every step stutters
    counts as a deadlock.
    """
    return False


def restore_ghosts(s: State, work: Bytes) -> None:
    """Ghost abstraction: write a value in the place of a visited state's class number.

    Called for each state before its steps are listed. Contract: the value is of the class.
    """


def abstract_ghosts(before: State, after: State, work: Bytes, report: Words) -> None:
    """Ghost abstraction: put the number of its class in the place of the value of a successor.

    Contract: two states that differ only in values of one class have the same steps and the same judgement, and so have
    their successors (an observer quotient); renaming processes commutes with it. Called after the step was judged and
    before the fingerprint is taken; `recover_ghosts` undoes it.
    """


def recover_ghosts(after: State, work: Bytes) -> None:
    """Ghost abstraction: restore the value of a successor, after its fingerprint was taken."""


def choose_ample(parent: State, steps: Words, work: Bytes, report: Words) -> None:
    """Ample sets: put the steps of an ample process at the front of the list, if there is one.

    Called once for each state, after `enabled`.
    """


def note_ample_step(parent: State, child: State, k: int, work: Bytes) -> None:
    """Ample sets: record what the k-th step of the list did, for `ample_suffices`.

    Called for each successor without an error, before it is judged.
    """


def ample_suffices(k: int, work: Bytes) -> bool:
    """Ample sets: return whether the steps before the k-th are an ample set, so that the others need not be taken.

    Contract: they are all steps of one ample process, each is independent of every step of the others, one of them is
    invisible, and each leaves less remaining work (the proviso: no cycle consists of ample steps alone).
    """
    return False


HOOKS = (
    stutters, restore_ghosts, abstract_ghosts, recover_ghosts, choose_ample, note_ample_step, ample_suffices,
)  # fmt: skip

# Functions that are bound only in a compilation in which a constant is true.
ONLY_WITH = {
    **dict.fromkeys((
        "canonical", "fixing_renamings", "permute", "add_images", "own_colours", "shared_colours", "order_by_colour",
        "GROUP", "PERM_SIZE",
    ), "SYMMETRY"),
    "hash_second": "WIDE",
}  # fmt: skip
