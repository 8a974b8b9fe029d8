"""zabcheck in a Spark program: DataFrames in, DataFrames out.

    from zabcheck.spark import judge

    verdicts = judge(spark.read.parquet("events"))
    verdicts.where("verdict = 'violated'").groupBy("property").count().show()

Nothing runs before somebody asks for rows. `docs/spark.md` has the columns, and what is said of rows in disorder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from checker.errors import RequestError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from invariants.registry import Property

__all__ = ["judge"]


def judge(
    events: DataFrame,
    properties: Sequence[str | Property] = (),
    *,
    observes: Sequence[str] | None = None,
    together: bool = False,
    order: Sequence[str] = (),
) -> DataFrame:
    """Judge every run in a DataFrame of events by the properties of histories.

    Args:
        events: with the columns of an event table (docs/events.md); further ones are left alone.
        properties: which; none: all that are judged by default.
        observes: the kinds of event that the source of a run notes, if the run's first row does not say; None: abcast
            and abdeliver.
        together: the rows of each run lie together, in order, in one partition: they are not moved. A run of which this
            is not so is malformed.
        order: columns that say the order of the rows of a run; none: `row`, or else time, process and position, as far
            as these say it.

    Returns:
        A row for each run and property, with the columns `run`, `property`, `verdict` (as of `zabcheck judge`; or
        malformed), `reason`, `time`, `command` and `note`. It is not computed yet.

    Raises:
        RequestError: there is no such property, a column is missing or of another type, or there is no Spark.
    """
    from checker.requests.judge import check_names
    from traces.judging.runs import JUDGED
    from traces.spark import NoSpark
    from traces.spark.session import check_installed
    from traces.tables.table import OBSERVED, TableError

    names = tuple(p if isinstance(p, str) else p.name for p in properties)
    check_names(names, [p.name for p in JUDGED])
    for kind in observes or ():
        if kind not in OBSERVED:
            raise RequestError(f"observes: there is no kind {kind!r}; there are {', '.join(OBSERVED)}")
    try:
        check_installed()
        from traces.judging.frames import judge_frame

        return judge_frame(events, names, observes, together, order)
    except (NoSpark, TableError) as problem:
        raise RequestError(str(problem)) from None
