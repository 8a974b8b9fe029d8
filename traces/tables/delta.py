"""Read and append to local or mounted Delta tables without Spark's package: `deltalake` has the log, Spark the files.

Tasks write Parquet files into the table's folder, which readers ignore; then one commit adds all of them. So a table
shows what a job has written only when all of it is there; an interrupted job adds nothing.
"""

from __future__ import annotations

import json
import time
import uuid
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traces.events.table import TableError
from zabspec.extras import missing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def deltalake() -> Any:
    """Return the `deltalake` package.

    Raises:
        TableError: it is not installed.
    """
    if lacking := missing("deltalake"):
        raise TableError(f"a Delta table needs {lacking}")
    return import_module("deltalake")


def read_delta(spark: SparkSession, folder: Path) -> DataFrame:
    """Return a Delta table as it is now, with nulls for columns that older files lack.

    Raises:
        TableError: the folder holds no Delta table, or a table that needs a newer reader.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    delta = deltalake()
    table = opened(folder)
    if table.protocol().min_reader_version > 1:  # of a mapping of columns, of rows that are deleted in a vector
        raise TableError(f"{folder}: only Spark's own package reads this Delta table, which needs reader features")
    if table.metadata().partition_columns:
        raise TableError(f"{folder}: a Delta table with partitions is only read by Spark's own package")
    schema = from_arrow_schema(import_module("pyarrow").schema(delta.Schema.to_arrow(table.schema())))
    files = sorted(table.file_uris())
    return spark.read.schema(schema).parquet(*files) if files else spark.createDataFrame([], schema)


def append_delta(frame: DataFrame, folder: Path) -> int:
    """Add the rows of a DataFrame to a Delta table in one commit.

    The table is created if it does not exist; columns that it lacks are added to it.

    Returns:
        The version of the table.

    Raises:
        TableError: a column has another type there, or the folder holds something else.
    """
    delta = deltalake()
    schema = schema_of(frame)
    if not delta.DeltaTable.is_deltatable(str(folder)):
        if folder.exists() and any(folder.iterdir()):
            raise TableError(f"{folder} is not a Delta table, and is not empty")
        folder.mkdir(parents=True, exist_ok=True)
        delta.DeltaTable.create(str(folder), schema)
    table = opened(folder)
    there = {field.name: field for field in table.schema().fields}
    new = []
    for field in schema.fields:
        if field.name not in there:
            new.append(field)
        elif there[field.name].type != field.type:
            said = there[field.name].type
            raise TableError(f"{folder}: column {field.name!r} is {said} in this Delta table, not {field.type}")
    part = f"part-{uuid.uuid4().hex}"
    frame.write.parquet(str(folder / part))
    files = sorted((folder / part).glob("*.parquet"))
    if new:
        table.alter.add_columns(new)
        table = opened(folder)
    table.create_write_transaction([added(folder, path) for path in files], "append", table.schema())
    version: int = opened(folder).version()
    return version


def opened(folder: Path) -> Any:
    """Open a Delta table.

    Raises:
        TableError: the folder holds no Delta table.
    """
    delta = deltalake()
    try:
        return delta.DeltaTable(str(folder))
    except delta.exceptions.DeltaError as problem:
        raise TableError(f"{folder}: {problem}") from None


def schema_of(frame: DataFrame) -> Any:
    """Return the Delta schema of a DataFrame; every column may be null."""
    from pyspark.sql.pandas.types import to_arrow_schema

    arrow: Any = import_module("pyarrow")
    found = arrow.schema([field.with_nullable(True) for field in to_arrow_schema(frame.schema)])
    return deltalake().Schema.from_arrow(found)


def added(folder: Path, path: Path) -> Any:
    """Return a file's entry for the log of a table."""
    import pyarrow.parquet as pq

    stats = json.dumps({"numRecords": pq.read_metadata(path).num_rows})
    action: Any = import_module("deltalake.transaction").AddAction
    return action(str(path.relative_to(folder)), path.stat().st_size, {}, int(time.time() * 1000), True, stats)
