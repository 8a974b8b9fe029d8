"""The distributed search: its levels and its verdicts, on Spark or in this process."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from functools import cache
from typing import Any

from checker.explore.checkpoints.checkpoint import Checkpoint
from checker.explore.result import Limits
from checker.tables.distributed.cluster import Cluster, Here
from checker.tables.distributed.code import task_of
from checker.tables.distributed.explore import SparkExplorer
from checker.tables.distributed.storage import Storage
from tests.second.harness.book import Book
from tests.second.harness.differences import Difference
from tests.second.harness.plain import Renamer
from tests.second.harness.question import Question
from tests.second.harness.searching import judged, not_merged

PARTS = 4
FEW = 8  # states up to which a level is not worth a job


@cache
def cluster() -> Cluster | Here:
    """Where tasks run: as jobs of Spark, if ZABCHECK_SECOND_SPARK is set, else here, one after the other."""
    if not os.environ.get("ZABCHECK_SECOND_SPARK"):
        return Here()
    from traces.tables.spark.session import session

    return Cluster(session("local[1]").__enter__())


def compared(question: Question, book: Book) -> Difference | str | None:
    """Hold the distributed search against the reference: states of each level, and verdicts."""
    if book.errors:
        return "a step errs"
    wide = len(book.keys) % 2 == 1  # of half of the protocols fingerprints have 128 bits
    task, why = task_of(question.configuration, question.properties, True, wide, PARTS, True)
    if why and isinstance(other := not_merged(question, why), Difference):
        return other
    with tempfile.TemporaryDirectory() as folder:
        explorer = SparkExplorer(task, Checkpoint(Storage(folder)))
        explorer.here = FEW
        r = explorer.run(cluster(), Limits(depth=question.request.get("max_depth")), keep_going=True)
    if r.error:
        return "a step errs"
    renamer = Renamer(question.plain, question.configuration.quorums, question.configuration.roles)
    wanted: Counter[int] = Counter()
    seen: set[str] = set()
    for k in sorted(range(len(book.keys)), key=lambda k: book.depth[k]):
        text = book.keys[k] if why else renamer.orbit(book.keys[k])[0]
        if text not in seen:
            seen.add(text)
            wanted[book.depth[k]] += 1
    levels: list[Any] = [wanted[d] for d in range(max(wanted) + 1)]
    if list(r.levels) != levels:
        return Difference("distributed", "states of each level", [str(list(r.levels)), f"for {levels}"])
    return judged("distributed", question, book, r)
