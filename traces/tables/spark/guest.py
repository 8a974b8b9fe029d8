"""A guest in a session that is there already: somebody's SparkSession, or the Java process of spark-submit.

A guest works in a session of its own beside the one that it found (`newSession`): the same application, cluster and
files, other SQL settings. So nothing that it sets is seen by its host, whose session stays as it was and goes on.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.metadata import distribution, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traces.tables.spark import NoSpark, SparkFailed
from traces.tables.spark.connect import SCHEME, active, has_java, is_connect, with_settings
from traces.tables.spark.trouble import reason
from zabspec.files import without_secrets
from zabspec.temporary import temporary_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES = ("zabcheck", "zabspec", "invariants", "traces", "checker")  # what tasks on other machines need of us
NAME = "zabcheck"  # the name of the distribution, whose version is recorded in tables
TOP = Path(__file__).parents[3]
HADOOP = "spark.hadoop."  # before a setting of Hadoop's file systems, which a session takes by its own name
ASKED = 30.0  # seconds that a Python may take to say where it has our code from
SENT: set[str] = set()  # the applications, and the sessions of Spark Connect, that have our code


def is_local(master: str) -> bool:
    """Return whether a master runs its tasks on this machine, in child processes of the Java process."""
    return master == "local" or master.startswith("local[")


def is_submitted() -> bool:
    """Return whether spark-submit has started this process, with a Java process of its own to work with."""
    return bool(os.environ.get("PYSPARK_GATEWAY_PORT"))


def host() -> SparkSession | None:
    """Return the session that is there, of this process or of spark-submit; None if there is none.

    Raises:
        NoSpark: what spark-submit has prepared does not start.
    """
    found = active()
    if found is not None or not has_java():
        return found
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is None and not is_submitted():
        return None
    try:
        return SparkSession.builder.getOrCreate()
    except Exception as problem:
        said = reason(problem)
        if not said:
            raise
        raise NoSpark(f"the existing Spark session cannot be used: {said}") from problem


def master_of(said: str, otherwise: str) -> str:
    """Return the Spark master on which something runs.

    Args:
        said: the master that was asked for; empty if none was.
        otherwise: the default, if nothing was asked for and there is no session.

    Raises:
        NoSpark: another master was asked for than that of the present session.
    """
    found = host()
    if found is None:
        return said or otherwise
    if is_connect(found):
        if said:
            raise NoSpark(f"--master {without_secrets(said)}: there is a session of Spark Connect here; omit --master")
        return SCHEME
    master = str(found.sparkContext.master)
    if said and said != master:
        said = without_secrets(said)
        raise NoSpark(f"--master {said}: there is a Spark session here, on {master}; without --master it is used")
    return master


@contextmanager
def guest(found: SparkSession, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Work in a session that is there; it is left as it was.

    Args:
        found: the session.
        settings: of the work. Those that belong to a session and not to its application are made for the guest alone.

    Raises:
        SparkFailed: a job failed.
        NoSpark: workers cannot be given our code.
    """
    if is_connect(found):
        with with_settings(found, {key.removeprefix(HADOOP): value for key, value in settings.items()}):
            send_code(found)
            yield found
        return
    from pyspark.sql import SparkSession

    instance, context = SparkSession._instantiatedSession, found.sparkContext
    python = context.pythonExec
    try:
        if is_local(str(context.master)):
            context.pythonExec = sys.executable  # what PATH has first need not be what this process runs in
        send_code(found)
        spark = found.newSession()
        for key, value in settings.items():
            name = key.removeprefix(HADOOP)
            if name != key or spark.conf.isModifiable(name):
                spark.conf.set(name, value)
        yield spark
    except Exception as problem:
        sentence = reason(problem)
        if not sentence:
            raise
        raise SparkFailed(sentence) from problem
    finally:
        context.pythonExec = python
        SparkSession._instantiatedSession = instance
        with contextlib.suppress(Exception):  # the host's may be gone: then there is nothing to put back
            made: Any = found
            made._jvm.SparkSession.setActiveSession(made._jsparkSession)


@contextmanager
def workers(spark: SparkSession) -> Iterator[None]:
    """Let the workers of a session run our code meanwhile: send it to them, and use this Python on this machine."""
    send_code(spark)
    if is_connect(spark):  # its server says which Python its workers run
        yield
        return
    context = spark.sparkContext
    python = context.pythonExec
    try:
        if is_local(str(context.master)):
            context.pythonExec = sys.executable
        yield
    finally:
        context.pythonExec = python


def send_code(spark: SparkSession) -> None:
    """Give the workers of a session our code, if they have not got it.

    Each package goes as an archive of its own name, which executors unpack into the folder of the application's files,
    or of the session's where it is one of Spark Connect: pyspark puts that on the path. Nothing is asked of settings,
    which an application that runs takes no more.
    """
    if is_connect(spark):
        session: Any = spark
        send_archives(session.session_id, lambda archive: session.addArtifacts(archive, archive=True))
        return
    context = spark.sparkContext
    if is_local(str(context.master)) and has_code(context.pythonExec):
        SENT.add(context.applicationId)
    send_archives(context.applicationId, context.addArchive)


def send_archives(whose: str, send: Callable[[str], object]) -> None:
    """Send an archive of each package, once.

    Args:
        whose: the application, or the session.
        send: takes a path with the name that it is unpacked under.
    """
    if whose in SENT:
        return
    held = ExitStack()
    folder = held.enter_context(temporary_folder("spark-code"))
    atexit.register(held.close)  # an executor that comes later fetches them too
    for package in PACKAGES:
        send(f"{packed(package, folder)}#{package}")
    named = metadata(folder)
    send(f"{named}#{named.stem}")
    SENT.add(whose)


def has_code(python: str) -> bool:
    """Return whether a Python of this machine, started anywhere, imports the code that runs here."""
    asks = [python, "-c", "import os, traces; print(os.path.dirname(os.path.dirname(traces.__file__)))"]
    try:
        done = subprocess.run(asks, capture_output=True, text=True, check=True, timeout=ASKED, cwd="/")
    except (OSError, subprocess.SubprocessError):
        return False
    return Path(done.stdout.strip()) == TOP


def metadata(folder: Path) -> Path:
    """Return an archive by which a Python that has our code, and not as an installed package, knows what it is.

    Its version, and what joins the core: without these entry points a task would make other code of a model.
    """
    number, points = version(NAME), distribution(NAME).read_text("entry_points.txt") or ""
    path = folder / f"{NAME}-{number}.dist-info.zip"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("METADATA", f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {number}\n")
        out.writestr("entry_points.txt", points)
    return path


def packed(package: str, folder: Path) -> Path:
    """Return an archive of what a package holds."""
    path = folder / f"{package}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for file in sorted((TOP / package).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                out.write(file, file.relative_to(TOP / package))
    return path
