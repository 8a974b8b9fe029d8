"""One Spark session for the tests of a process."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from typing import Any, ClassVar


def surroundings() -> tuple[object, ...]:
    """What a Spark session changes while it lasts."""
    names = ("JAVA_HOME", "PYTHONPATH", "PYSPARK_PYTHON", "SPARK_LOCAL_IP")
    return signal.getsignal(signal.SIGINT), *map(os.environ.get, names)


class LocalSpark:
    """One local Spark session for all tests of this process that need one and do not care how it began: each start of
    Java is seconds of work. It tries tasks again, runs slow ones twice, and believes no page with a wrong checksum."""

    CONF: ClassVar[dict[str, str]] = {
        "spark.speculation": "true",
        "spark.speculation.interval": "20ms",
        "spark.speculation.multiplier": "1.01",
        "spark.speculation.quantile": "0.1",
        "spark.speculation.minTaskRuntime": "10ms",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
    }

    def __init__(self) -> None:
        self.held = ExitStack()
        self.made: Any = None
        self.before: Any = None

    def get(self) -> Any:
        from traces.tables.spark.session import session

        if self.made is None:
            self.before = surroundings()
            self.made = self.held.enter_context(session("local[2,4]", brief=True, memory=1 << 30, conf=self.CONF))
            self.made.range(1).count()  # at its first question Spark writes the warehouse's address in another way
        return self.made

    def end(self) -> None:
        self.made = None
        self.held.close()
