"""Audit a large ensemble with Spark: a task for each file, then for each server, then for each range of zxids.

What is concluded is concluded in one place, from the same summaries: the findings are those of an audit without Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from traces.spark.session import session
from traces.spark.tasks import run_as_tasks
from traces.zookeeper.audit.audit import Audit, audit
from traces.zookeeper.disk.server import Directory
from zabspec.zoo_cfg import ZooCfg


def audit_on_spark(
    directories: list[Directory], config: ZooCfg | None, show_data: bool, digests: bool, master: str | None = None,
    release: str = "", forecast: bool = False, options: Mapping[str, str] | None = None,
) -> Audit:  # fmt: skip
    """Audit an ensemble as Spark tasks, which read the files themselves: a cluster must see them under these paths.

    Raises:
        NoSpark: there is none.
        SparkFailed: a job failed.
    """
    with session(master or "", brief=True) as spark:

        def each(work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
            return run_as_tasks(spark, work, arguments)

        return audit(
            directories, config, show_data, digests, each=each, release=release, forecast=forecast,
            options=options,
        )  # fmt: skip
