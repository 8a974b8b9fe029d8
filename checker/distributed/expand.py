"""The first half of a level, in a task: one part of it is expanded, and what was found is sent to
the owners, each state once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from checker.distributed.checkpoint import Level
from checker.distributed.code import ExplorationTask, code_for
from checker.distributed.storage import Storage
from checker.distributed.workspace import Row, workspace_for
from checker.explore import kernel
from checker.explore.memory import Block, peak_bytes

__all__ = ["REPORT_CELL", "expanded"]

REPORT_CELL = -1  # of a task's last message, which goes to the owner of its part and has its report


def expanded(question: ExplorationTask, storage: Storage, level: Level, source: int) -> Iterator[Row]:
    """Expand one part of a level; gives what goes to the owners.

    Raises:
        Damaged: a file of the checkpoint is not what was written.
    """
    cpu = time.process_time()
    code = code_for(question)
    part = level.parts[source]
    report = Block(8 * kernel.REPORT)
    if part.count:
        with workspace_for(code) as workspace:
            yield from workspace.found(question, storage, level, source, report)
    words = report.words(0, kernel.REPORT)
    yield {
        "owner": source,
        "cell": REPORT_CELL,
        "source": source,
        "number": 0,
        "report": {"words": words, "cpu": time.process_time() - cpu, "memory": peak_bytes()},
    }
