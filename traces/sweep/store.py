"""The folder of a sweep: what was asked, and the rows of every block that is finished.

    sweep.json                     the question, the code that answers it, how it is cut into blocks, and their digests
    runs/block-00000017.parquet    the rows of a block, complete whenever the file is there
    events/block-00000017.parquet  what happened in its runs, if that was asked for: it is there before the rows are
    report.html, report.md, plots/ what they come to

A block's rows follow from the question alone, and a file is written under a name of its own and
then renamed. So a block may be run twice, at once or again, and the table is the same. A file is believed
when its rows have the digest that it carries, and that is the one of the manifest, if this has one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import pyarrow.parquet as pq

from traces.record.reading import strict_json
from traces.sweep.block import block_table, properties_of, schema_of
from traces.sweep.checksum import CheckedBlock, read_table, seal, unsealed
from traces.sweep.events import events_of
from traces.sweep.grid import NONE, Grid, grid_of
from traces.tables.recorded import observes
from traces.tables.table import USUAL, TableWriter
from zabspec.files import NEW, check_readable, read_bytes, replacing
from zabspec.model import ConfigError
from zabspec.protocols.registry import PROTOCOLS
from zabspec.quorums import MAJORITY
from zabspec.simulator.run import sources_digest

FORMAT = "zabcheck sweep 2"
LARGEST = 1 << 24  # bytes of a manifest
MANIFEST = "sweep.json"
RUNS = "runs"
EVENTS = "events"
MAKERS = ("grid", "random_numbers", "block", "checksum", "events")
LISTENERS = ("traces/tables/recorded.py", "traces/record/events.py", "traces/record/listener.py")  # and its events
# what the rows of a sweep follow from
SOURCES = (
    "zabspec",
    "invariants",
    "traces/judging/simulated.py",
    *(f"traces/sweep/{name}.py" for name in MAKERS),
    *LISTENERS,
)


class StoreError(Exception):
    """A folder cannot hold this sweep; the message says why in one sentence."""


@dataclass(frozen=True)
class Store:
    """The folder of a sweep.

    Attributes:
        folder: its path; every worker must see it under this name.
        question: the grid of the sweep.
        block: the number of configurations in a block; the last may have fewer.
        events: whether the events of the runs are kept as well.
    """

    folder: Path
    question: Grid
    block: int
    events: bool = False

    def __reduce__(self) -> Any:
        """Pickle without the digests, so that a worker digests the sources that it has itself."""
        return Store, (self.folder, self.question, self.block, self.events)

    @property
    def runs(self) -> Path:
        """Return the folder of the table."""
        return self.folder / RUNS

    @property
    def blocks(self) -> int:
        """Return the number of blocks."""
        return -(-self.question.count // self.block)

    def numbers(self, block: int) -> range:
        """Return the numbers of the configurations of a block."""
        return range(block * self.block, min(self.question.count, (block + 1) * self.block))

    def part(self, block: int) -> Path:
        """Return the path of a block's file."""
        return self.runs / f"block-{block:08}.parquet"

    def part_of_events(self, block: int) -> Path:
        """Return the path of the file with the events of a block's runs."""
        return self.folder / EVENTS / self.part(block).name

    def finished(self) -> list[int]:
        """Return the blocks whose files exist, by their names alone."""
        return [block for block in self.files() if block < self.blocks]

    def files(self) -> list[int]:
        """Return the numbers of all files that are named as blocks."""
        names = (re.fullmatch(r"block-(\d{8})\.parquet", name, re.ASCII) for name in os.listdir(self.runs))
        return sorted(int(name[1]) for name in names if name)

    def withdraw(self) -> None:
        """Remove the sweep from its folder, if nothing was ever run in it; other files stay."""
        if not self.finished():
            with contextlib.suppress(OSError):  # the user's own files stay, and then the folder does too
                (self.folder / MANIFEST).unlink()
                self.runs.rmdir()
                if self.events:
                    (self.folder / EVENTS).rmdir()
                self.folder.rmdir()

    def missing(self) -> list[int]:
        """Return the blocks to run: those without a valid file; invalid files are removed.

        Raises:
            StoreError, OSError: as for `check`.
        """
        there = self.check()
        return [block for block in range(self.blocks) if block not in there]

    def check(self, blocks: Iterable[int] | None = None) -> dict[int, CheckedBlock]:
        """Read the files of some blocks, or of all, and remove those that are not what was written.

        Returns:
            What the valid files contain, by block; their digests are in the manifest from then on.

        Raises:
            StoreError: there is a block that this sweep does not have, or the folder now holds another sweep.
            OSError: the manifest cannot be written.
        """
        files = self.files()
        for block in files:
            if block >= self.blocks or not self.part(block).is_file():
                raise StoreError(f"{self.part(block)} is not of this sweep")
        asked = files if blocks is None else sorted({*files} & {*blocks})
        recorded = self.recorded()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = dict(zip(asked, pool.map(self.unsealed, asked), strict=True))
        kept: dict[int, CheckedBlock] = {}
        for block, sealed in found.items():
            if sealed is not None and recorded.get(block, sealed.digest) == sealed.digest:
                kept[block] = sealed
            else:
                self.part(block).unlink(missing_ok=True)
        digests = {block: digest for block, digest in recorded.items() if found.get(block, True) is not None}
        digests |= {block: sealed.digest for block, sealed in kept.items()}
        if digests != recorded:
            self.write_manifest(digests)
        return kept

    def unsealed(self, block: int) -> CheckedBlock | None:
        """Return what the file of a block contains, or None if it is not what was written."""
        names = properties_of(self.question)
        try:
            question = self.question_of(block)
        except OSError:
            return None
        return unsealed(self.part(block), schema_of(self.question), question, block, names)

    def question_of(self, block: int) -> str:
        """Return a digest of the grid, and of the events of a block if they are kept.

        Raises:
            OSError: the events cannot be read.
        """
        if not self.events:
            return self.digest
        check_readable(self.part_of_events(block))
        with self.part_of_events(block).open("rb") as file:
            return f"{self.digest} {hashlib.file_digest(file, 'sha256').hexdigest()}"

    def recorded(self) -> dict[int, str]:
        """Return the digests of blocks in the manifest.

        Raises:
            StoreError: the manifest is another sweep's, or missing.
        """
        said = asked_before(self.folder)
        if said is None or {name: said.get(name) for name in self.manifest} != self.manifest:
            raise StoreError(f"{self.folder} now belongs to another sweep")
        return {int(block): digest for block, digest in said["digests"].items()}

    def write_manifest(self, digests: Mapping[int, str]) -> None:
        """Write the manifest: the question, and the digests of blocks.

        Raises:
            OSError: it cannot be written.
        """
        said = self.manifest | {"digests": {str(block): digests[block] for block in sorted(digests)}}
        text = json.dumps(said, indent=1) + "\n"
        write_whole(self.folder / MANIFEST, lambda out: out.write(text.encode()))

    def run_block(self, block: int) -> int:
        """Run a block's configurations and put their rows in place; return their number.

        Raises:
            OSError: they cannot be written.
        """
        numbers = self.numbers(block)
        if self.events:
            self.write_events(block)
        table = seal(block_table(self.question, numbers), self.question_of(block), block)
        path = self.part(block)
        write_whole(path, lambda out: pq.write_table(table, out, compression="zstd", write_page_checksum=True))
        return len(numbers)

    def write_events(self, block: int) -> None:
        """Play a block's runs and put their events in place.

        Raises:
            OSError: they cannot be written.
        """
        kinds = {kind for protocol in self.question.protocol for kind in observes(protocol)}
        every = all(kinds == {*observes(protocol)} for protocol in self.question.protocol)
        path = self.part_of_events(block)
        with TableWriter(path, kinds if every else USUAL) as table:
            for number in self.numbers(block):
                for rows in events_of(self.question, number):
                    table.add_table(rows)
        with path.open("rb") as file:
            os.fsync(file.fileno())

    def clear(self) -> None:
        """Remove what killed workers left."""
        for folder in (self.runs, self.folder / EVENTS):
            for path in folder.glob(f"{NEW}*"):
                with contextlib.suppress(OSError):
                    path.unlink()

    def row(self, number: int) -> dict[str, Any]:
        """Return the row of a finished configuration, by number.

        Raises:
            OSError, ValueError: the file is damaged.
        """
        table = read_table(self.part(number // self.block))
        found: dict[str, Any] = table.slice(number % self.block, 1).to_pylist()[0]
        return found

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Return the contents of `sweep.json` without the digests of blocks."""
        return {
            "format": FORMAT,
            "sources": sources_digest(*SOURCES),
            "texts": texts_digest(self.question),
            "question": self.question.as_json(),
            "configurations": self.question.count,
            "block": self.block,
        } | ({"events": True} if self.events else {})

    @cached_property
    def digest(self) -> str:
        """Return a digest of the grid, of the code that answers it, and of its division into blocks."""
        return hashlib.sha256(json.dumps(self.manifest, sort_keys=True).encode()).hexdigest()


def texts_digest(question: Grid) -> str:
    """Return a digest of the source files of the grid's protocols and variants, wherever they are."""
    files = set()
    for name, variant, *_ in question.programs:
        protocol = PROTOCOLS[name]
        files |= {str(module.__file__) for module in protocol.modules}
        overrides = protocol.overrides("" if variant == NONE else variant)
        files |= {function.__code__.co_filename for function in overrides.values()}
    digests = sorted(hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files)
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under a temporary name, and rename it when it is complete and on disk.

    Raises:
        OSError: it cannot be written.
    """
    try:
        with replacing(path) as new, new.open("wb") as out:
            write(out)
            out.flush()
            os.fsync(out.fileno())
    except FileNotFoundError:
        # another worker may have finished the same, and cleared what it took for left behind
        if not path.exists():
            raise


# --- opening -------------------------------------------------------------------------------------


def asked_before(folder: Path) -> dict[str, Any] | None:
    """Return the contents of the folder's manifest, or None if the folder holds no sweep.

    Raises:
        StoreError: it holds something else, or cannot be read.
    """
    path = folder / MANIFEST
    try:
        said = strict_json(read_bytes(path, LARGEST))
    except OSError as problem:
        if problem.errno != errno.ENOENT:
            raise StoreError(f"{path}: {problem.strerror}") from None
        try:
            if any(not name.startswith(NEW) for name in os.listdir(folder)):
                raise StoreError(f"{folder} has something other than a sweep") from None
        except FileNotFoundError:
            pass
        except OSError as problem:
            raise StoreError(f"{folder}: {problem.strerror}") from None
        return None
    except ValueError as problem:
        raise StoreError(f"{path} has no valid request: {problem}") from None
    if not isinstance(said, dict) or said.get("format") != FORMAT or type(said.get("block")) is not int:
        raise StoreError(f"{path} is not of a sweep of this version of zabcheck")
    digests = said.setdefault("digests", {})
    if not isinstance(digests, dict) or not all(re.fullmatch(r"\d{1,8}", block, re.ASCII) for block in digests):
        raise StoreError(f"{path} has no digests of its blocks")
    return said


def open_store(folder: Path, question: Grid | None, block: Callable[[Grid], int], events: bool = False) -> Store:
    """Open the folder of a sweep: a new one, or one to resume.

    Args:
        folder: created if missing.
        question: the grid, checked; None for that of the folder.
        block: returns the block size of a new sweep.
        events: keep the events of the runs as well.

    Raises:
        StoreError: the folder cannot be written, or holds something else.
        OSError: the disk is full.
    """
    folder = folder.absolute()
    said = asked_before(folder)
    if said is None:
        if question is None:
            raise StoreError(f"{folder} has no sweep, and none was requested")
        store = Store(folder, question, block(question), events)
    else:
        try:
            asked = grid_of(said["question"])
        except (ConfigError, KeyError) as problem:
            raise StoreError(f"{folder / MANIFEST} has no valid request ({problem})") from None
        store = Store(folder, asked, max(1, said["block"]), said.get("events") is True)
        if question is not None and question != asked:
            raise StoreError(f"{folder} has a sweep of another request: {difference(question, asked)}")
        if question is not None and events != store.events:
            kept = "keeps" if store.events else "does not keep"
            raise StoreError(f"{folder} holds a sweep that {kept} events; use another folder")
        if {name: value for name, value in said.items() if name != "digests"} != store.manifest:
            raise StoreError(f"{folder} holds a sweep made by another version of zabcheck; use another folder")
    try:
        store.runs.mkdir(parents=True, exist_ok=True)
        if store.events:
            (folder / EVENTS).mkdir(exist_ok=True)
        if said is None:
            store.write_manifest({})
    except OSError as problem:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise StoreError(f"{folder} cannot be written: {problem.strerror}") from None
    return store


def difference(asked: Grid, there: Grid) -> str:
    """Return the first difference between two grids."""
    one, two = ({"quorums": MAJORITY} | question.as_json() for question in (asked, there))
    name = next(name for name in one if one[name] != two[name])

    def value_text(value: Any) -> str:
        return " ".join(str(v) for v in value) if isinstance(value, list) else str(value)

    return f"its --{name.replace('_', '-')} is {value_text(two[name])}, not {value_text(one[name])}"
