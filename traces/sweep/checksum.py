"""Compute the checksum of a block: a digest over its rows, its number and the grid.

It is stored in the block's file, and in the manifest of the sweep. Whoever can write the whole folder can forge both;
against that there is the spot check (`spot_check.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from traces.sweep.block import VIOLATED
from zabspec.files import check_readable

# pyarrow says of neither what it exports
compute: Any = import_module("pyarrow.compute")
csv: Any = import_module("pyarrow.csv")

NAME = b"zabcheck digest"


@dataclass(frozen=True)
class CheckedBlock:
    """A block of a sweep whose rows are those that were written.

    Attributes:
        digest: over the question, the block's number and the rows.
        held: the number of rows whose run came to its end and violated nothing.
    """

    digest: str
    held: int


def seal(table: pa.Table, question: str, block: int) -> pa.Table:
    """Return the table with its digest in its metadata."""
    return table.replace_schema_metadata({NAME: digest_of(table, question, block)})


def digest_of(table: pa.Table, question: str, block: int) -> str:
    """Return the digest over a grid's digest, a block's number, and rows.

    The rows enter as CSV, in which no two tables of one schema have the same text.
    """
    out = pa.BufferOutputStream()
    csv.write_csv(table, out)
    digest = hashlib.sha256(f"{question} {block}\n".encode())
    digest.update(out.getvalue())
    return digest.hexdigest()


def unsealed(
    path: Path, schema: pa.Schema, question: str, block: int, properties: Sequence[str]
) -> CheckedBlock | None:
    """Read and check a block's file; return None if it is damaged, or not what was written for this block.

    Args:
        path: the file.
        schema: the schema of the sweep's table.
        question: the digest of the grid.
        block: the number of the block.
        properties: the columns of verdicts.
    """
    try:
        table = read_table(path)
        said = (table.schema.metadata or {}).get(NAME, b"").decode("ascii", "replace")
        if not table.schema.equals(schema) or said != digest_of(table, question, block):
            return None
    except (OSError, ValueError, pa.ArrowException):
        return None
    return CheckedBlock(said, compute.sum(held(table, properties)).as_py() or 0)


def read_table(path: Path) -> pa.Table:
    """Read one file in full, checking its pages; the names of the folders above it are not read as columns.

    Raises:
        OSError, ValueError, pa.ArrowException: it is damaged.
    """
    check_readable(path)
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return file.read()


def held(table: pa.Table, properties: Sequence[str]) -> Any:
    """Return a mask of the rows whose run came to its end and violated nothing."""
    out = compute.fill_null(compute.equal(table.column("error"), ""), False)
    for name in properties:
        out = compute.and_(out, compute.fill_null(compute.not_equal(table.column(name), VIOLATED), True))
    return out
