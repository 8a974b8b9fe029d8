"""Define properties: of safety, and of progress."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

HISTORY, STATE, STEP, TERMINAL = "history", "state", "step", "terminal"
RUNTIME = "runtime"
BUILT_IN = "built in"  # the source of a property that every protocol has
DEADLOCK = "deadlock"  # a property of terminal states that has no premise

Judging = Any  # a function of the language, with its code and docstring


def unwrapped(doc: str | None) -> str:
    """Return a docstring without its line breaks."""
    return " ".join((doc or "").split())


def first_paragraph(doc: str | None) -> str:
    """Return the first paragraph of a docstring, without its line breaks."""
    return unwrapped(inspect.cleandoc(doc or "").partition("\n\n")[0])


@dataclass(frozen=True)
class Property:
    """A property and its witness.

    Attributes:
        name: the name on the command line.
        of: `history` or `state` (holds(s), witness(s)), `terminal` (the same, checked only in a state in which no step
            is possible: nothing more happens in that run) or `step` (holds(before, event, after)); `runtime`: whether a
            step can be taken at all (`NO_RUNTIME_ERROR`, for which there is no function of the language).
        source: where it is stated: the paper's section, or the file of the protocol.
        premise: what the witness shows, in words.
        default: whether it is checked unless properties are named; a documented non-property, or a clause of an
            invariant, is not.
        protocols: the protocols whose state it reads; if empty, it reads what every protocol has: the observed history
            (`of` history) and beside it each process's stable `history` (`of` state).
        passes: whether it reads the passes that processes gave up (`zabspec/passes.py`), which are kept where such a
            property is named.
        tables: whether the rows of an event table contain everything that it reads of the observed history.
        follows_from: properties that together imply it (docs/explanation/reductions.md); a search that merges what was
            observed may check them in its place. Empty if there are no such.
        sooner: of a step: where a step violates it, the same step also does so before steps of other processes with
            which it can be swapped.
    """

    name: str
    of: str
    source: str
    premise: str
    holds: Judging
    witness: Judging
    default: bool = True
    protocols: tuple[str, ...] = ()
    passes: bool = False
    tables: bool = True
    follows_from: tuple[Property, ...] = ()
    sooner: bool = False

    def judges(self, protocol: str) -> bool:
        """Return whether it can be checked on runs of a protocol."""
        return not self.protocols or protocol in self.protocols

    @property
    def statement(self) -> str:
        """Return the paper's or the author's statement: the function's docstring."""
        return unwrapped(self.holds.__doc__)


@dataclass(frozen=True)
class ProgressProperty:
    """A progress property: in no fair run does a process wait for ever from some moment on, or again and again.

    Attributes:
        name: the name on the command line.
        source: where it is stated.
        waits: whether process p still waits in a state, of (s, p, named), or of (s, p) where nobody is named. Its
            docstring is the statement.
        key: the name of the function in a program, if it differs.
        holds_with: the variant under which it holds, of a protocol that violates it; empty if none is known.
        default: whether it is checked unless progress properties are named.
        role: the type of the role whose processes may wait; empty if any may.
        again: whether p may not even wait again and again: eventually it never waits.
    """

    name: str
    source: str
    waits: Judging
    key: str = ""
    holds_with: str = ""
    default: bool = True
    role: str = ""
    again: bool = False

    @property
    def called(self) -> str:
        """Return the name of the function in a program."""
        return self.key or self.waits.__name__

    @property
    def statement(self) -> str:
        """Return the statement: the function's docstring."""
        return unwrapped(self.waits.__doc__)

    @property
    def names_one(self) -> bool:
        """Return whether the function takes the named process."""
        return bool(self.waits.__code__.co_argcount == 3)
