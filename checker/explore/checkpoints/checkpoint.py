"""Checkpoints of an exploration: what is known after each level, as files.

`level-00017.json` is the manifest of level 17: it names the files that hold the level's states, their predecessors and
all fingerprints so far, and has the counters. It exists once the level is committed, and not before; a run that is
killed continues from the last one. Files that no manifest names are ignored: a task that was repeated, or ran twice,
leaves one that is removed later.
"""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from checker.explore.checkpoints.files import File, StorageError
from checker.explore.checkpoints.task import ExplorationTask
from traces.record.reading import strict_json

if TYPE_CHECKING:
    from checker.explore.result import Limits

FORMAT = 2
INDEX_AT = 16  # a predecessor's key: its place in what its task expanded (48 bits), and the ordinal (16)
PREDECESSOR = 8  # bytes: see `split_key`


class Place(Protocol):
    """Where the files of a checkpoint lie: `Folder`, or the storage of a distributed exploration."""

    @property
    def where(self) -> Any:
        """Return the place, as messages name it."""

    @property
    def local(self) -> bool:
        """Return whether it is on this machine."""

    def names(self, folder: str = "") -> list[str]:
        """Return the names of the files in a folder."""

    def small(self, name: str) -> bytes:
        """Return a small file's bytes."""

    def settle(self, name: str) -> None:
        """Force a folder's entries to the disk."""

    def replace(self, name: str, data: bytes) -> None:
        """Write a file whole."""

    def remove(self, names: Iterable[str]) -> None:
        """Remove files."""

    def part(self, file: File, at: int, size: int) -> Any:
        """Return bytes of a file."""


Where = TypeVar("Where", bound=Place)


class Refused(Exception):
    """A checkpoint does not match the request; the message is a sentence."""


@dataclass(frozen=True)
class LevelPart:
    """One part of a level: the states that a task found, and the fingerprints of the owner with its number.

    Attributes:
        states: packed, in the order of the level.
        predecessors: a key for each, in the same order.
        runs: all fingerprints of the owner so far, the oldest run first.
        blocks: where states may be divided: of each piece of `states` the number of states, and of bytes.
    """

    states: File
    predecessors: File
    runs: tuple[File, ...]
    blocks: tuple[tuple[int, int], ...] = ()

    @property
    def count(self) -> int:
        return self.states.count

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LevelPart:
        runs = tuple(File(**run) for run in data["runs"])
        blocks = tuple((int(count), int(size)) for count, size in data.get("blocks", ()))
        return cls(File(**data["states"]), File(**data["predecessors"]), runs, blocks)


@dataclass(frozen=True)
class Piece:
    """Some states of a level that are adjacent in a file.

    Attributes:
        part: the part that has them; `at`: the byte of its states at which they begin.
        first: the index of the first of them there; `count`: their number.
    """

    part: int
    at: int
    first: int
    count: int


@dataclass
class Level:
    """A committed level, and everything that was found up to it.

    Attributes:
        depth: of its states.
        parts: by owner.
        levels, raw_levels: distinct states at each depth, and with renamings counted separately.
        totals: the kernel's counters, added up.
        witnessed: by property, the depth at which its premise was met.
        violations: by property, the steps that lead to its violation.
        error: the run-time error that was met in it; `error_run`: the steps to it, if a capacity was too small.
        seconds, cpu_seconds: spent so far.
        memory: the maximum bytes that a process of a task has used.
        jobs: how many of the levels up to this one were jobs of Spark.
    """

    depth: int
    parts: list[LevelPart]
    levels: list[int]
    raw_levels: list[int]
    totals: list[int]
    witnessed: dict[str, int] = field(default_factory=dict)
    violations: dict[str, list[int]] = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    memory: int = 0
    error_run: list[int] | None = None
    jobs: int = 0

    @property
    def size(self) -> int:
        """The number of its states."""
        return self.levels[-1]

    def shares(self) -> list[list[Piece]]:
        """Return the pieces that each task expands: the same number of states for each, up to a block."""
        out: list[list[Piece]] = [[] for _ in self.parts]
        total, before = sum(part.count for part in self.parts), 0
        for k, part in enumerate(self.parts):
            at = first = 0
            for count, size in part.blocks:
                mine = out[before * len(self.parts) // total]
                if mine and mine[-1].part == k:
                    last = mine.pop()
                    mine.append(Piece(k, last.at, last.first, last.count + count))
                else:
                    mine.append(Piece(k, at, first, count))
                at, first, before = at + size, first + count, before + count
        return out

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Level:
        return cls(**{**data, "parts": [LevelPart.from_json(part) for part in data["parts"]]})


def manifest_name(depth: int) -> str:
    return f"level-{depth:05}.json"


def folder_of(depth: int) -> str:
    """Return the folder of a level's files."""
    return f"{depth:05}"


class Checkpoint(Generic[Where]):
    """The checkpoints of one exploration."""

    def __init__(self, storage: Where) -> None:
        self.storage = storage
        self._lock: int | None = None

    # --- opening -----------------------------------------------------------------------------------

    def lock(self) -> None:
        """Lock the checkpoint against other runs, if the storage is on this machine.

        Raises:
            Refused: another run holds the lock.
        """
        if not self.storage.local:
            return
        self._lock = os.open(os.path.join(self.storage.where, ".lock"), os.O_CREAT | os.O_RDWR, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.unlock()
            raise Refused(f"another run is using the checkpoint {self.storage.where}") from None

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def depths(self) -> list[int]:
        """Return the depths of the committed levels, sorted."""
        found = (re.fullmatch(r"level-(\d{5,})\.json", name) for name in self.storage.names())
        return sorted(int(match[1]) for match in found if match)

    def check_empty(self) -> None:
        """Check that the folder holds neither a checkpoint nor other files.

        Raises:
            Refused: it does.
        """
        depths = self.depths()
        if depths:
            raise Refused(f"{self.storage.where} has a checkpoint at depth {depths[-1]}; --resume continues from it")
        if [name for name in self.storage.names() if name != ".lock"]:
            raise Refused(f"{self.storage.where} is not empty, and has no checkpoint")

    def last(self) -> tuple[ExplorationTask, Level]:
        """Return the last committed level, and the task that it belongs to.

        Raises:
            Refused: there is none, or it is damaged.
        """
        depths = self.depths()
        if not depths:
            raise Refused(f"{self.storage.where} has no checkpoint to resume from")
        question, level = self.load(depths[-1])
        names = {name: set(self.storage.names(folder_of(name))) for name in depths}
        for file in files_of(level):
            folder, _, name = file.name.partition("/")
            if name not in names.get(int(folder), ()):
                raise Refused(f"the checkpoint {self.storage.where} is damaged: {file.name} is missing")
        if depths != list(range(len(depths))):
            raise Refused(f"the checkpoint {self.storage.where} is damaged: the manifest of a level is missing")
        return question, level

    def load(self, depth: int) -> tuple[ExplorationTask, Level]:
        """Return a committed level and its task.

        Raises:
            Refused: it is damaged.
        """
        name = manifest_name(depth)
        try:
            document = strict_json(self.storage.small(name))
            body = document["level"]
            if document["format"] != FORMAT:
                raise Refused(f"the checkpoint {self.storage.where} is of another version of zabcheck")
            if document["sha256"] != digest(document["question"], body):
                raise ValueError("its digest does not match")
            return ExplorationTask.from_json(document["question"]), Level.from_json(body)
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise Refused(f"the checkpoint {self.storage.where} is damaged: {name} ({problem})") from None

    # --- writing -----------------------------------------------------------------------------------

    def commit(self, question: ExplorationTask, level: Level) -> None:
        """Commit a level atomically.

        Raises:
            StorageError: it cannot be written.
        """
        asked, body = question.as_json(), dataclasses.asdict(level)
        document = {"format": FORMAT, "sha256": digest(asked, body), "question": asked, "level": body}
        try:
            self.storage.settle(folder_of(level.depth))
            self.storage.replace(manifest_name(level.depth), json.dumps(document).encode())
        except OSError as problem:
            raise StorageError(f"--checkpoint {self.storage.where}: {problem.strerror or problem}") from problem

    def tidy(self, level: Level, before: Level | None) -> None:
        """Remove what a commit has made superfluous: the states before, merged runs, and files of other attempts."""
        superfluous = [f"{folder_of(level.depth)}/{n}" for n in self.storage.names(folder_of(level.depth))]
        superfluous += [f"{folder_of(level.depth + 1)}/{n}" for n in self.storage.names(folder_of(level.depth + 1))]
        if before is not None:
            superfluous += [file.name for part in before.parts for file in (part.states, *part.runs) if file.name]
        needed = {file.name for file in files_of(level)}
        self.storage.remove(name for name in superfluous if name not in needed)

    # --- the way back ------------------------------------------------------------------------------

    def ordinals(self, level: Level, part: int, index: int) -> list[int]:
        """Return the ordinal of the successor for each step from the initial state to a state of a level.

        Args:
            part, index: where the state is.

        Raises:
            Damaged, Refused: a file that is needed for it is missing.
        """
        out: list[int] = []
        while level.depth:
            word = self.storage.part(level.parts[part].predecessors, PREDECESSOR * index, PREDECESSOR)
            place, ordinal = split_key(int.from_bytes(word, "little"))
            out.insert(0, ordinal)
            _, level = self.load(level.depth - 1)
            part, index = located(level, part, place)
        return out


def located(level: Level, share: int, place: int) -> tuple[int, int]:
    """Return the part of a state and its index there, from its index among the states that a task expanded."""
    for piece in level.shares()[share]:
        if place < piece.count:
            return piece.part, piece.first + place
        place -= piece.count
    raise IndexError(f"task {share} expanded no such state")


def files_of(level: Level) -> list[File]:
    """Return the files of a level: states, predecessors and runs."""
    return [f for part in level.parts for f in (part.states, part.predecessors, *part.runs) if f.name]


def digest(question: dict[str, Any], level: dict[str, Any]) -> str:
    """Return the digest of a manifest's content, independent of its layout."""
    return hashlib.sha256(json.dumps([question, level], sort_keys=True).encode()).hexdigest()


def check_same(found: ExplorationTask, asked: ExplorationTask, level: Level, limits: Limits, where: str) -> None:
    """Check that a checkpoint belongs to the requested exploration.

    Raises:
        Refused: a checkpoint is of another request than the one asked.
    """
    if found.engine != asked.engine:
        raise Refused(f"the checkpoint {where} is of another engine: resume it with --engine {found.engine}")
    old, new = dataclasses.asdict(found.configuration), dataclasses.asdict(asked.configuration)
    for name, value in old.items():
        if new[name] != value:
            raise Refused(f"the checkpoint {where} is of another request: {name} {value!r}, not {new[name]!r}")
    if found.properties != asked.properties:
        raise Refused(f"the checkpoint {where} is of another request: it checks other properties")
    if found.symmetry != asked.symmetry:
        raise Refused(f"the checkpoint {where} is of another request: symmetry is {'on' if found.symmetry else 'off'}")
    if found.every_step != asked.every_step:
        what = "taken" if found.every_step else "left out"
        raise Refused(f"the checkpoint {where} is of another request: stuttering receipts are {what}")
    if found.wide != asked.wide:
        raise Refused(f"the checkpoint {where} has fingerprints of {128 if found.wide else 64} bits")
    if found.reduction != asked.reduction:
        raise Refused(f"the checkpoint {where} is of another search: it omits other states")
    if found.version != asked.version:
        raise Refused(f"the checkpoint {where} was made by another version of the protocol or of zabcheck")
    if limits.depth is not None and level.depth > limits.depth:
        raise Refused(f"the checkpoint {where} is already at depth {level.depth}")


def split_key(key: int) -> tuple[int, int]:
    """Split a key into a predecessor's index among those its task expanded, and the ordinal of the successor."""
    return key >> INDEX_AT, key & (1 << INDEX_AT) - 1
