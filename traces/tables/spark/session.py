"""A Spark session that begins, works and ends without a word of its own; where there is one already, a guest in it.

One of our own at a time in a process. Its Java process, its log and whatever it spills live in one folder under
the system's temporary one, which goes when the session does; what a killed process leaves there is
removed by the next.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shlex
import socket
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import TYPE_CHECKING, Any

from traces.java import NoJava, find_java
from traces.tables.spark import NoSpark, SparkFailed
from traces.tables.spark.connect import SCHEME, active, connection, has_java, server_of
from traces.tables.spark.guest import TOP, guest, host, is_local, master_of, send_code
from traces.tables.spark.interrupts import Interrupts
from traces.tables.spark.trouble import ended, how_it_ended, log_lines, reason
from zabspec.extras import missing
from zabspec.files import without_secrets
from zabspec.limits import machine_memory
from zabspec.temporary import temporary_folder, top

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["LOCAL", "check_installed", "cores", "is_local", "own_folder", "reason", "session"]

LOCAL = "local[*]"
PYSPARK = 4  # the supported major version, with all its minor versions
REACHABLE = 5.0  # seconds that a standalone master may take to answer
ENDING = 10.0  # seconds that Java may take to end by itself
MIB = 1 << 20


@contextmanager
def session(
    master: str = "",
    *,
    brief: bool = False,
    memory: int | None = None,
    partitions: int | None = None,
    conf: Mapping[str, str] | None = None,
    attempts: int = 1,
) -> Iterator[SparkSession]:
    """Open a Spark session, or use the existing one of this process or of spark-submit.

    A session of our own is stopped at the end, and killed on Ctrl-C or another interrupt. An existing one is left as it
    was (`guest.py`).

    Args:
        master: where it runs, as Spark names it: `local[*]`, `local[2,4]`, `spark://host:7077`, `yarn`, ...; if empty,
            the existing session, or `local[*]`.
        brief: the work is short (under a minute): Java compiles quickly rather than well. Local masters only.
        memory: bytes for the Java process of a local master; by default a quarter of the machine's.
        partitions: of a shuffle; by default the number of cores (local masters), else Spark's.
        conf: further settings, which take precedence over those made here. Those of `spark-defaults.conf` come last.
        attempts: how often a task of a local master is tried, as clusters do by themselves.

    Raises:
        NoSpark: no session is possible, or the existing one runs elsewhere than `master`.
        SparkFailed: a job failed, or Java ended by itself.
    """
    check_installed()
    if master.startswith(SCHEME) and active() is None:
        check_reachable(master)
        with connection(master) as connected, guest(connected, conf or {}) as spark:
            yield spark
        return
    master = master_of(master, LOCAL)
    found = host()
    if found is not None:
        of_work = {**settings_of_work(master, partitions), **(conf or {})}
        with guest(found, of_work) as spark:
            yield spark
        return
    if not has_java():
        raise NoSpark("pyspark-client includes no Java: --master sc://HOST:PORT selects a server of Spark Connect")
    master = retrying(master, attempts)
    if not is_local(master):
        check_reachable(master)
    with own_folder() as folder:
        settings = {**settings_for(master, folder, brief, memory, partitions), **(conf or {})}
        with hushed(), Interrupts() as interrupts:
            spark, process = started(master, settings, folder, interrupts)
            try:
                yield spark
                with contextlib.suppress(Exception):
                    spark.stop()
            except Exception as problem:
                if interrupts.came:
                    raise KeyboardInterrupt from None
                sentence = reason(problem)
                if not sentence:
                    raise
                if ended(process, problem):
                    sentence = f"Spark's Java process has ended: {how_it_ended(process, folder)}"
                raise SparkFailed(no_room(folder) or sentence) from problem
            finally:
                end(process, at_once=not isinstance(sys.exception(), Exception | None))


def retrying(master: str, attempts: int) -> str:
    """Return a local master that retries a task when its process has died; any other master unchanged."""
    return re.sub(r"^local\[(\*|\d+)\]$", rf"local[\1,{attempts}]", master) if attempts > 1 else master


# --- before it starts ----------------------------------------------------------------------------


def check_installed(*more: str) -> None:
    """Check that the packages for Spark are installed.

    Args:
        more: packages needed besides Spark's.

    Raises:
        NoSpark: a package is missing, or pyspark has another major version.
    """
    check_packages("pyspark", "pyarrow", "pandas", *more)
    # of pandas 3, with which everything here is tested
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    for name in ("pyspark", "pyspark-client"):
        with contextlib.suppress(PackageNotFoundError):
            if int(version(name).split(".")[0]) != PYSPARK:
                raise NoSpark(f"this needs {name} {PYSPARK}.0 or a later {PYSPARK}, not {version(name)}")


def check_packages(*names: str) -> None:
    """Check that packages are installed.

    Raises:
        NoSpark: one is missing.
    """
    if lacking := missing(*names):
        raise NoSpark(f"this needs {lacking}")


def check_reachable(master: str) -> None:
    """Check that a master answers, before Spark tries it.

    Spark tries a standalone master for over a minute, and a server of Spark Connect for ten.

    Raises:
        NoSpark: nothing answers there, or a master of these kinds is not HOST:PORT.
    """
    if master.startswith(SCHEME):
        places = {master: server_of(master)}
        kind = f"a server of Spark Connect is {SCHEME}HOST:PORT"
    elif master.startswith("spark://"):
        hosts = master.removeprefix("spark://").split(",")
        places = {place: server_of(place) if ":" in place else None for place in hosts}
        kind = "a standalone master is spark://HOST:PORT"
    else:
        return
    said, trouble = without_secrets(master), ""
    for place in places.values():
        if place is None:
            raise NoSpark(f"--master {said}: {kind}")
        try:
            with socket.create_connection((place[0].strip("[]"), place[1]), REACHABLE):
                return
        except (OSError, OverflowError) as problem:
            trouble = getattr(problem, "strerror", None) or str(problem)
    raise NoSpark(f"--master {said}: no answer ({trouble})")


@contextmanager
def own_folder() -> Iterator[Path]:
    """Create a folder for the session that is removed at the end.

    Raises:
        NoSpark: there is no room.
    """
    with contextlib.ExitStack() as held:
        try:
            folder = held.enter_context(temporary_folder("spark"))
        except OSError as problem:
            raise NoSpark(f"Spark needs a folder under {top()}: {problem.strerror}") from None
        yield folder


def no_room(folder: Path) -> str:
    """Return a sentence if the disk of a session's folder is full, else an empty string.

    Java's errors do not say that the disk is full.
    """
    with contextlib.suppress(OSError):
        disk = os.statvfs(folder)
        if disk.f_bavail * disk.f_frsize < MIB:
            return f"there is no room left under {folder.parent}"
    return ""


# --- settings ------------------------------------------------------------------------------------


def settings_of_work(master: str, partitions: int | None) -> dict[str, str]:
    """Return the settings that the work needs from its session, in any application."""
    settings = {"spark.sql.execution.arrow.pyspark.enabled": "true", "spark.sql.session.timeZone": "UTC"}
    if partitions is None and is_local(master):
        partitions = cores(master)
    if partitions is not None:
        settings["spark.sql.shuffle.partitions"] = str(partitions)
    return settings


def settings_for(master: str, folder: Path, brief: bool, memory: int | None, partitions: int | None) -> dict[str, str]:
    """Return the settings of a session that is started here.

    A cluster's own matters (memory, cores, addresses, catalog, user interface) are left to `spark-defaults.conf` and
    PYSPARK_SUBMIT_ARGS. For a local session their settings are kept too, except for where its files are and how it is
    reached.
    """
    settings = settings_of_work(master, partitions)
    said = settings_said()
    if "spark.python.daemon.module" not in said:
        settings["spark.python.daemon.module"] = "traces.tables.spark.daemon"  # found as `python -m` finds it
    if not is_local(master):
        if on_loopback(master):
            settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        return settings
    options = ["-XX:-UsePerfData", f"-Djava.io.tmpdir={folder}"]
    if brief:
        options += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    size = memory if memory is not None else min(machine_memory() // 4, 16 << 30)
    yielding = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.driver.defaultJavaOptions": " ".join(options),  # what extraJavaOptions say comes behind
    }
    return {
        **settings,
        **{name: value for name, value in yielding.items() if name not in said},
        "spark.local.dir": str(folder),
        "spark.driver.memory": f"{max(512, size // MIB)}m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


def settings_said() -> dict[str, str]:
    """Return the settings of `spark-defaults.conf` and, taking precedence, of PYSPARK_SUBMIT_ARGS."""
    said: dict[str, str] = {}
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (home and os.path.join(home, "conf"))
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for line in (Path(folder) / "spark-defaults.conf").read_text("utf-8").splitlines() if folder else ():
            found = re.match(r"\s*(spark\.[^\s=:]+)\s*[=:\s]\s*(.*?)\s*$", line)
            if found:
                said[found[1]] = found[2]
    with contextlib.suppress(ValueError):
        words = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
        for flag, word in pairwise(words):
            name, equals, value = word.partition("=")
            if flag in ("--conf", "-c") and equals:
                said[name] = value
    return said


def on_loopback(master: str) -> bool:
    """Return whether a standalone master is on this machine and not visible to others."""
    hosts = [place.rpartition(":")[0] for place in master.removeprefix("spark://").split(",")]
    return master.startswith("spark://") and all(h == "localhost" or h.startswith("127.") for h in hosts)


def cores(master: str) -> int:
    """Return how many tasks a local master runs at once."""
    found = re.match(r"local\[(\d+|\*)", master)
    if not found:
        return 1
    return len(os.sched_getaffinity(0)) if found[1] == "*" else int(found[1])


# --- starting and ending -------------------------------------------------------------------------


def started(
    master: str, settings: Mapping[str, str], folder: Path, interrupts: Interrupts
) -> tuple[SparkSession, Popen[bytes]]:
    """Start a session and the Java process behind it, which writes its log to the folder.

    Raises:
        NoSpark: it does not start.
        SparkFailed: Java was killed while starting.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setMaster(master).setAppName("zabcheck")
    for key, value in settings.items():
        conf.set(key, value)
    with environment(master, folder), (folder / "log").open("wb") as log, interrupts.knowing_java():
        gateway: Any = None
        try:
            gateway = launch_gateway(conf, {"stdout": log, "stderr": log})
            context = SparkContext(conf=conf, gateway=gateway)
            interrupts.listen()  # Spark's own handler asks Java to cancel its jobs, over the line that is in use
            # it writes to stderr when Java is gone
            context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
            spark = SparkSession(context)
            if not is_local(master):
                send_code(spark)
            return spark, gateway.proc
        except BaseException as problem:
            java, killed = interrupts.process, ""
            said = reason(problem) if gateway is not None else next(iter(log_lines(folder)), "")
            if java is not None:
                if isinstance(problem, Exception) and ended(java, problem) and java.returncode < 0:
                    killed = how_it_ended(java, folder)
                end(java, at_once=True)
            if interrupts.came:
                raise KeyboardInterrupt from None
            if not isinstance(problem, Exception):
                raise
            if killed:
                raise SparkFailed(f"Spark's Java process has ended: {killed}") from problem
            raise NoSpark(f"Spark does not start: {no_room(folder) or said or problem}") from problem


@contextmanager
def environment(master: str, folder: Path) -> Iterator[None]:
    """Set the variables that Spark's launcher and its Python processes read, and restore them afterwards."""
    try:
        java = find_java(folder)
    except NoJava as problem:
        raise NoSpark(str(problem)) from None
    wanted: dict[str, str | None] = {
        "JAVA_HOME": str(java.home),
        "SPARK_REMOTE": None,
        "SPARK_CONNECT_MODE_ENABLED": None,
        "PYSPARK_GATEWAY_PORT": None,  # of a Java process started by someone else
    }
    if is_local(master):
        paths = [os.environ.get("PYTHONPATH", ""), str(TOP)]
        wanted["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    python = os.environ.get("PYSPARK_PYTHON") or settings_said().get("spark.pyspark.python")
    if is_local(master) or on_loopback(master):
        wanted["SPARK_LOCAL_IP"] = "127.0.0.1"
        python = sys.executable if is_local(master) else python or sys.executable
    wanted["PYSPARK_PYTHON"] = python
    kept = {name: os.environ.get(name) for name in wanted}
    put(wanted)
    try:
        yield
    finally:
        put(kept)


def put(variables: Mapping[str, str | None]) -> None:
    """Set these variables, and delete those that are None."""
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def hushed() -> Iterator[None]:
    """Silence py4j's own log of what it raises, where no logging is configured."""
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


def end(process: Popen[bytes], at_once: bool) -> None:
    """End a Java process and its Python processes, and reset pyspark so that another can be started."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if at_once:
        process.kill()
    gateway: Any = SparkContext._gateway
    if gateway is not None:
        with contextlib.suppress(Exception):
            gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        process.wait(ENDING)
    except TimeoutExpired:
        process.kill()
        process.wait()
