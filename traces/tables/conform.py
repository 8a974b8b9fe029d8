"""Bring a DataFrame of somebody else's events to the columns of an event table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from traces.events.table import COLUMNS, KINDS, ROW, TableError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField, StructType

LOSSLESS = ("tinyint", "smallint", "int", "bigint")  # types of Spark that a whole number of 64 bits holds
MOMENTS = ("timestamp", "timestamp_ntz")  # of the column `time`: as microseconds
READ_AS = "zabcheck.null"  # of a column's metadata: as what its nulls are read
REQUIRED = ("run", "kind")


def spark_schema() -> StructType:
    """Return the schema of event tables as Spark types."""
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    kinds = {True: StringType(), False: LongType()}
    return StructType([StructField(name, kinds[is_text], null) for name, is_text, null, _ in COLUMNS])


def conform(df: DataFrame, mapping: Mapping[str, str], kinds: Mapping[str, str], nulls: Mapping[str, int]) -> DataFrame:
    """Return a DataFrame with the columns of an event table, and the further ones of `df`.

    Args:
        df: the events.
        mapping: the name in `df` of each column of an event table that has another name there.
        kinds: the kind of event for each value of the column of kinds that has another name there.
        nulls: by column, the number that a null stands for. Verdicts note it.

    Raises:
        TableError: columns or kinds are missing or of another type; one sentence has all mistakes.
    """
    from pyspark.sql import functions as f

    there, names = {field.name: field for field in df.schema.fields}, [name for name, *_ in COLUMNS]
    source = {name: mapping.get(name, name) for name in names}
    wrong = [f"an event table has no column {name!r}" for name in (*mapping, *nulls) if name not in names]
    wrong += [f"there is no column {there_name!r}" for there_name in mapping.values() if there_name not in there]
    wrong += [f"there is no column {name!r}, which is needed" for name in REQUIRED
              if name not in mapping and name not in there]  # fmt: skip
    wrong += [f"column {name!r} is spelt like {plain!r}: rename it in the mapping, or drop it" for name in there
              if (plain := name.strip().casefold()) in names and name not in (*names, *mapping.values())]  # fmt: skip
    wrong += [f"there is no kind {kind!r}" for kind in kinds.values() if kind not in KINDS]
    out: list[Column] = []
    for name, is_text, *_ in COLUMNS:
        field = there.get(source[name])
        if field is None:
            if name != ROW:
                column = f.lit(nulls.get(name)).cast("string" if is_text else "bigint")
                out.append(noted(column, name, nulls, True))
        elif why := unfit(field, name, is_text):
            wrong.append(why)
        else:
            column = f.col(f"`{source[name]}`")
            kind = field.dataType.simpleString()
            # what has no time zone is none of the session's, in which an hour may be missing or come twice
            column = f.concat(column.cast("string"), f.lit("Z")) if kind == "timestamp_ntz" else column
            column = f.unix_micros(column.cast("timestamp")) if kind in MOMENTS else column
            if name == "kind" and kinds:
                column = f.coalesce(f.create_map(*(f.lit(x) for pair in kinds.items() for x in pair))[column], column)
            column = column.cast("string" if is_text else "bigint")
            column = f.coalesce(column, f.lit(nulls[name])) if name in nulls else column
            out.append(noted(column, name, nulls, False))
    if wrong:
        raise TableError("; ".join(wrong))
    used = {*source.values(), *names}
    return df.select(*out, *(f.col(f"`{name}`") for name in df.columns if name not in used))


def unfit(field: StructField, name: str, is_text: bool) -> str:
    """Return why a column cannot be one of an event table without loss; empty if it can."""
    found = field.dataType.simpleString()
    fits = found == "string" if is_text else found in LOSSLESS or (name == "time" and found in MOMENTS)
    wanted = "a text" if is_text else "a whole number" + (" or a timestamp" if name == "time" else "")
    return "" if fits else f"column {field.name!r} is {found}, and {name!r} is {wanted}"


def noted(column: Column, name: str, nulls: Mapping[str, int], missing: bool) -> Column:
    """Return a column under its name; its metadata says as what its nulls are read."""
    if name not in nulls:
        return column.alias(name)
    what = "the missing column" if missing else "a null of column"
    return column.alias(name, metadata={READ_AS: f"{what} {name!r} is read as {nulls[name]}"})
