"""The first stage of a level, in a task: expand its share, save what it finds, and query the fingerprints' owners."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

from checker.explore import kernel
from checker.explore.checkpoints.checkpoint import Level, folder_of
from checker.explore.checkpoints.files import NOTHING
from checker.explore.checkpoints.task import ExplorationTask
from checker.explore.memory import Block, peak_bytes
from checker.tables.distributed.code import code_for
from checker.tables.distributed.storage import Storage
from checker.tables.distributed.workspace import Row, workspace_for


def expanded(question: ExplorationTask, storage: Storage, level: Level, source: int) -> Iterator[Row]:
    """Expand a share of a level; yield the queries to owners, and then a report.

    The report goes to the owner of the same number, which passes it on.

    Raises:
        Damaged: a file of the checkpoint is not what was written.
        OSError: what was found cannot be written.
    """
    cpu = time.process_time()
    code = code_for(question)
    report, found = Block(8 * kernel.REPORT), NOTHING
    if level.shares()[source]:
        # no other attempt at this task has the same name
        name = f"{folder_of(level.depth + 1)}/{source:05}-{uuid.uuid4().hex[:12]}.found"
        with workspace_for(code) as workspace:
            with storage.writing(name) as out:
                count = yield from workspace.found(question, storage, level, source, report, out)
            found = out.file(count)
    words = report.words(0, kernel.REPORT)
    counted = {"words": words, "cpu": time.process_time() - cpu, "memory": peak_bytes()}
    yield {"owner": source, "source": source, "report": counted, "candidates": found}
