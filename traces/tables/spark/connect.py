"""Sessions of Spark Connect: a client without a Java process, of a server that plans and runs (`sc://HOST:PORT`).

Such a session has no SparkContext: neither RDDs nor the application's settings. It has DataFrames, functions over
Arrow batches and settings of its own, and gives its workers what `addArtifacts` is given.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from traces.tables.spark import NoSpark, SparkFailed
from traces.tables.spark.trouble import reason
from zabspec.extras import missing
from zabspec.files import without_secrets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEME = "sc://"
PORT = 15002  # where a server listens if its address has no port
VARIABLES = ("SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED")


def is_connect(spark: SparkSession) -> bool:
    """Return whether a session is one of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def has_java() -> bool:
    """Return whether the pyspark that is installed can start Java; `pyspark-client` cannot."""
    return find_spec("py4j") is not None


def active() -> SparkSession | None:
    """Return the session of Spark Connect that this process has, or begins with `SPARK_REMOTE`; None if there is none.

    Raises:
        NoSpark: `SPARK_REMOTE` names a server that cannot be used.
    """
    if os.environ.get("SPARK_REMOTE") and not os.environ.get("SPARK_CONNECT_MODE_ENABLED"):
        return made(os.environ["SPARK_REMOTE"])
    module: Any = sys.modules.get("pyspark.sql.connect.session")
    if module is None:
        return None
    found: SparkSession | None = module.SparkSession.getActiveSession() or module.SparkSession._get_default_session()
    return found


def made(master: str) -> SparkSession:
    """Begin a session of Spark Connect.

    Raises:
        NoSpark: there is no such server, or packages are missing.
    """
    from pyspark.sql import SparkSession

    said = without_secrets(master)
    if lacking := missing("grpc", "grpc_status", "google.rpc", "zstandard"):
        raise NoSpark(f"--master {said}: Spark Connect needs {lacking}")
    try:
        spark = SparkSession.builder.remote(master).getOrCreate()
        _ = spark.version  # the first request to the server
        return spark
    except Exception as problem:
        raise NoSpark(f"--master {said}: {without_secrets(reason(problem) or str(problem))}") from None


def server_of(master: str) -> tuple[str, int] | None:
    """Return the host and port of a server's address; None if it has none."""
    place = master.removeprefix(SCHEME).partition("/")[0]
    host, colon, port = place.rpartition(":")
    if not colon or place.endswith("]"):
        host, port = place, str(PORT)
    return (host, int(port)) if host and port.isdecimal() else None


@contextmanager
def connection(master: str) -> Iterator[SparkSession]:
    """Work in a session of our own on a server of Spark Connect; it is released at the end.

    Raises:
        NoSpark: there is no such server.
    """
    kept = {name: os.environ.get(name) for name in VARIABLES}
    try:
        spark = made(master)
        try:
            yield spark
        finally:
            with contextlib.suppress(Exception):  # the server may be gone
                spark.stop()
    finally:
        for name, value in kept.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextmanager
def with_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Work in a session with settings that are put back. Those that are not a session's are left out.

    Raises:
        SparkFailed: a job failed.
    """
    before: dict[str, str | None] = {}
    conf: Any = spark.conf  # its type stubs claim that every option has a value
    try:
        for name, value in settings.items():
            if conf.isModifiable(name):
                before[name] = conf.get(name, None)
                conf.set(name, value)
        yield spark
    except Exception as problem:
        sentence = reason(problem)
        if not sentence:
            raise
        raise SparkFailed(sentence) from problem
    finally:
        with contextlib.suppress(Exception):  # the server may be gone: then there is nothing to put back
            for name, was in before.items():
                if was is None:
                    conf.unset(name)
                else:
                    conf.set(name, was)
