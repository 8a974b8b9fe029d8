"""Run functions as Spark tasks, by a DataFrame plan, which sessions of Spark Connect run as well."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

MOST = 4 << 20  # bytes of arguments in a job, all of which every task unpickles
RESULTS = "number bigint, result binary"


def run_as_tasks(spark: SparkSession, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Run a function over many arguments, each in a Spark task of its own.

    Args:
        spark: a session whose workers have our code (`session`, `guest.workers`).
        work: is pickled, as the arguments and results are.
        arguments: of the calls.

    Returns:
        The results, in the order of the arguments.

    Raises:
        Exception: what Spark raises where a job fails.
    """
    out: list[Any] = []
    for some in jobs([pickle.dumps(argument) for argument in arguments]):
        # the numbers of a range are one a partition, which repartitioned rows are not
        numbers = spark.range(0, len(some), 1, len(some))
        found = numbers.mapInArrow(Calls(work, some), RESULTS).collect()
        results = {int(row["number"]): pickle.loads(row["result"]) for row in found}
        out += [results[k] for k in range(len(some))]
    return out


def jobs(arguments: Sequence[bytes]) -> Iterator[tuple[bytes, ...]]:
    """Yield the arguments of each job: as many as `MOST` allows."""
    some: list[bytes] = []
    size = 0
    for argument in arguments:
        if some and size + len(argument) > MOST:
            yield tuple(some)
            some, size = [], 0
        some.append(argument)
        size += len(argument)
    if some:
        yield tuple(some)


@dataclass(frozen=True)
class Calls:
    """The calls of a job.

    Attributes:
        work: the function.
        arguments: pickled, those of each call.
    """

    work: Callable[..., Any]
    arguments: tuple[bytes, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the calls of a task, whose numbers come in batches."""
        import pyarrow as pa

        for batch in batches:
            for number in batch.column(0).to_pylist():
                result = pickle.dumps(self.work(*pickle.loads(self.arguments[number])))
                columns = [pa.array([number], pa.int64()), pa.array([result], pa.binary())]
                yield pa.RecordBatch.from_arrays(columns, names=["number", "result"])
