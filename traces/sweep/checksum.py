"""What makes the rows of a block known again: a digest over them, their block and the question.

It lies in the file beside the rows, and in the manifest of the sweep. Whoever can write the whole
folder can make both anew; against that there is `again`.
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

__all__ = ["CheckedBlock", "held", "read_table", "seal", "unsealed"]

# pyarrow says of neither what it exports
compute: Any = import_module("pyarrow.compute")
csv: Any = import_module("pyarrow.csv")

NAME = b"zabcheck digest"


@dataclass(frozen=True)
class CheckedBlock:
    """A block whose rows are those that were written.

    Attributes:
        digest: over the question, the block's number and the rows.
        held: how many rows tell of a run that came to its end and broke nothing.
    """

    digest: str
    held: int


def seal(table: pa.Table, question: str, block: int) -> pa.Table:
    """The table with its digest in it."""
    return table.replace_schema_metadata({NAME: digest_of(table, question, block)})


def digest_of(table: pa.Table, question: str, block: int) -> str:
    """The digest over a question's own, a block's number, and rows: as CSV, in which no two tables of one
    schema are the same text."""
    out = pa.BufferOutputStream()
    csv.write_csv(table, out)
    digest = hashlib.sha256(f"{question} {block}\n".encode())
    digest.update(out.getvalue())
    return digest.hexdigest()


def unsealed(
    path: Path, schema: pa.Schema, question: str, block: int, properties: Sequence[str]
) -> CheckedBlock | None:
    """What a block's file has, all of it read; none: it is damaged, or is not what was written for this block.

    Args:
        schema: of the sweep's table.
        question: the digest of what is asked.
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
    """All of one file, its pages checked; what the folders above it are called says nothing of its columns.

    Raises:
        OSError, ValueError, pa.ArrowException: it is damaged.
    """
    check_readable(path)
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return file.read()


def held(table: pa.Table, properties: Sequence[str]) -> Any:
    """Which rows tell of a run that came to its end and broke nothing."""
    out = compute.fill_null(compute.equal(table.column("error"), ""), False)
    for name in properties:
        out = compute.and_(out, compute.fill_null(compute.not_equal(table.column(name), VIOLATED), True))
    return out
