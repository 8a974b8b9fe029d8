"""A sweep at an address: blocks as they are finished, and at the end the table, all of it at once.

    sweep.json                            the question, and the digests of the blocks that are finished
    _blocks/runs/block-00000017.parquet   the rows of a block; `_blocks/events` has what happened in its runs
    runs.parquet, events.parquet          all rows, each in one file, which is there when the sweep is finished
    report.html, report.md, plots/

Tasks send the files of their blocks to the driver, which alone writes there: workers need neither the address nor its
keys. The driver has a copy in a folder of its own, on which all else is done that is done of a folder (`store.py`).
An interrupted sweep resumes from its blocks, which readers of tables skip, as they do all names that begin with `_`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from traces.spark.tasks import run_as_tasks
from traces.sweep.store import EVENTS, MANIFEST, RUNS, Store, write_whole
from traces.tables.places import Address
from traces.tables.remote import RemoteError
from traces.tables.table import BOUNDARY
from zabspec.temporary import temporary_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from traces.tables.remote import RemoteFolder

BLOCKS = "_blocks"
AT_ONCE = 64  # blocks in a job, whose files the driver has in memory
SCHEMA = b"ARROW:schema"  # which pyarrow writes by itself
WHOLE = f"{BOUNDARY}whole".encode()
REPORTS = ("report.md", "report.html")


@dataclass(frozen=True)
class RemoteSweep:
    """A sweep at an address, and its copy in a local folder.

    Attributes:
        address: the address of the sweep.
        remote: the folder at that address.
        folder: the local copy.
    """

    address: Address
    remote: RemoteFolder
    folder: Path

    def fetch(self) -> None:
        """Copy what the sweep has there.

        Raises:
            RemoteError: it cannot be read, or there is something else.
        """
        if MANIFEST not in self.remote.names(""):
            if not self.remote.is_empty():
                raise RemoteError(f"{self.address} has something other than a sweep")
            return
        self.remote.get(MANIFEST, self.folder / MANIFEST)
        for kind in (RUNS, EVENTS):
            (self.folder / kind).mkdir(exist_ok=True)
            for name in self.remote.names(f"{BLOCKS}/{kind}"):
                self.remote.get(f"{BLOCKS}/{kind}/{name}", self.folder / kind / name)

    def run(self, spark: SparkSession, store: Store, missing: list[int], tell: Callable[[int], None]) -> None:
        """Run the blocks that are missing, and put their files there.

        Raises:
            RemoteError: they cannot be written.
        """
        self.remote.put(store.folder / MANIFEST, MANIFEST)
        for k in range(0, len(missing), AT_ONCE):
            some = missing[k : k + AT_ONCE]
            for block, files in zip(some, run_as_tasks(spark, MakeBlock(store), [(b,) for b in some]), strict=True):
                for kind in sorted(files):  # events before rows: only with the rows they count
                    path = store.folder / kind / store.part(block).name
                    put_bytes(path, files[kind])
                    self.remote.put(path, f"{BLOCKS}/{kind}/{path.name}")
            tell(sum(len(store.numbers(block)) for block in store.finished()))

    def publish(self, store: Store) -> None:
        """Put the tables there, each at once, and the report; the manifest with all digests comes last.

        Raises:
            RemoteError: they cannot be written.
        """
        for kind in (EVENTS, RUNS) if store.events else (RUNS,):
            path = self.folder / f"{kind}.parquet"
            join([store.folder / kind / store.part(block).name for block in range(store.blocks)], path)
            self.remote.put(path, path.name)
        for path in sorted((self.folder / "plots").glob("*.svg")):
            self.remote.put(path, f"plots/{path.name}")
        for name in (*REPORTS, MANIFEST):
            self.remote.put(self.folder / name, name)


@dataclass(frozen=True)
class MakeBlock:
    """What a task does: it makes the files of a block, in a folder of its own."""

    store: Store

    def __call__(self, block: int) -> dict[str, bytes]:
        """Return the files of a block, by their kind.

        Raises:
            OSError: the worker has no room for them.
        """
        with temporary_folder("block") as folder:
            mine = replace(self.store, folder=folder)
            kinds = (RUNS, EVENTS) if mine.events else (RUNS,)
            for kind in kinds:
                (folder / kind).mkdir()
            mine.run_block(block)
            return {kind: (folder / kind / mine.part(block).name).read_bytes() for kind in kinds}


def put_bytes(path: Path, data: bytes) -> None:
    """Write a file whole."""
    write_whole(path, lambda out: out.write(data))


def join(paths: list[Path], target: Path) -> None:
    """Write the rows of some files into one; what the footers of all of them say stays."""
    each = [pq.read_metadata(path).metadata or {} for path in paths]
    said = {k: v for k, v in each[0].items() if k != SCHEMA and all(one.get(k) == v for one in each)}
    if any(one.get(WHOLE) == b"false" for one in each):
        said[WHOLE] = b"false"  # of events: a run may be in several row groups
    made = pq.read_schema(paths[0]).remove_metadata()
    with pq.ParquetWriter(target, made, compression="zstd", write_page_checksum=True) as out:
        for path in paths:
            with pq.ParquetFile(path) as file:
                for k in range(file.num_row_groups):
                    out.write_table(file.read_row_group(k).replace_schema_metadata())
        out.add_key_value_metadata(said)
