"""Hooks and fixtures of all tests; what they import is in modules of its own (`models.py`, `patience.py`, ...)."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import re
import signal
import sys
import threading
from collections.abc import Generator, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests import beforehand
from tests.failing import expectation, runs_of
from tests.spark import LocalSpark

beforehand.keep_bytecode()

# Whatever is started in Java is short here (Spark, servers, TLC): what compiles it thoroughly, or looks through its
# classes, costs more than it saves.
os.environ.setdefault(
    "JDK_JAVA_OPTIONS",
    "-XX:TieredStopAtLevel=1 -XX:-UsePerfData -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write tests/scenarios (CONTRIBUTING.md)")


# These files take longest, the longest first: begun early, they leave no core idle at the end.
LONGEST = (
    "test_variants.py", "test_every_example.py", "test_induct.py", "test_second.py", "test_refine.py", "test_check.py",
    "test_joining.py", "test_worlds.py", "test_bmc.py", "test_zookeeper_log_files.py", "test_transcripts.py",
    "test_narrowed.py", "test_paper_claims.py", "test_db19.py", "test_prove.py", "test_tla.py",
    "test_zookeeper_matrix.py", "test_page_examples.py", "test_zookeeper_observer.py", "test_history_abstraction.py",
    "test_datagrams.py", "test_scenarios.py", "test_starts.py", "test_second_opinion.py", "test_tree.py",
    "test_same_states.py", "test_zookeeper_production.py", "test_cli.py", "test_commands.py", "test_of_a_set.py",
    "test_symbolic_world.py", "test_stuttering.py", "test_small_protocols.py", "test_reenactment.py",
)  # fmt: skip
HERE = Path(__file__).parent
CACHED = type(cache(len))
# These start Java, which keeps two cores busy by itself: they are one worker's, one after the other, and begun first.
ON_SPARK = (
    "test_distributed.py", "test_sweep.py", "test_judge_spark.py", "test_pipeline.py", "test_guest.py",
    "test_spark_rough.py", "test_session.py",
)  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    # what the front end makes is in no circle, and looked through each time it is typed; `forget` collects
    gc.set_threshold(500_000, 20, 20)
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False  # pytest-xdist's own order is by the number of tests
    # shells start what runs in the background with SIGINT ignored, and whatever it starts inherits that
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Without bytecode each worker would compile every file of tests, at the same time as the others. Each begins with
    its share and finds what the others wrote; a file that cannot be imported says why when it is collected."""
    worker, workers = os.environ.get("PYTEST_XDIST_WORKER", ""), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1 and [Path(one).resolve() for one in session.config.args] == [HERE]:
        for file in sorted(HERE.rglob("test_*.py"))[int(worker.removeprefix("gw")) :: workers]:
            with contextlib.suppress(Exception, pytest.skip.Exception):
                import_module(".".join(file.relative_to(HERE.parent).with_suffix("").parts))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A file that imports from a wing whose folders are removed is skipped: it is a test of both."""
    report = yield
    lacking = re.search(r"No module named '[\w.]*\.(zookeeper|proofs|tables)\b", str(report.longrepr or ""))
    if report.failed and lacking and not [*HERE.parent.glob(f"checker/{lacking[1]}")]:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: it needs the wing {lacking[1]}")
    return report


def pytest_collection_finish() -> None:
    gc.freeze()  # all that was imported and collected is there until the end


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    gc.freeze()  # pytest collects five times as it ends, and so does Python


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not os.environ.get("ZABCHECK_EVERY"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("every")])
        items[:] = [item for item in items if not item.get_closest_marker("every")]
    places = {name: place for place, name in enumerate((*ON_SPARK, *LONGEST))}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file is one worker's, and so are all that start Java. (Groups by name, `--dist loadgroup`, are nobody's with
    pytest 9.2 and pytest-xdist 3.8.)"""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return "on Spark" if file.rpartition("/")[2] in ON_SPARK else file

    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """What was cached for a file ends with its last test: a worker runs dozens of files, and would hold all of it
    (2 GiB)."""
    yield
    if nextitem is None or nextitem.path != item.path:
        forget(item.getparent(pytest.Module).obj)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails shows the runs that it made; mutants, which read no summary, go without."""
    report = yield
    if report.failed and call.excinfo is not None and not item.config.getoption("no_summary", False):
        for run in runs_of(call.excinfo.tb):
            try:
                text = run.at_failure(expectation(call.excinfo.tb))
            except Exception as error:  # the product that draws it may be what fails
                text = f"it cannot be shown: {error!r}"
            report.sections.append(("the run", text))
    return report


def forget(module: ModuleType) -> None:
    """Empty the caches of a file's functions, and free what nobody holds. (Those of the product, and of modules that
    files share, take half a second of each file to fill again.)"""
    for value in vars(module).values():
        if isinstance(value, CACHED) and value.__module__ == module.__name__:
            value.cache_clear()
    if terms := sys.modules.get("zabspec.proofs.symbolic_terms"):
        terms.forget_terms()
    if resident() < LEAST_TO_FREE + LEFT[0]:  # a tenth of a second of each file, where there is little
        return
    gc.collect()
    gc.freeze()  # what is left is held by what files share: the next collection need not look through it
    with contextlib.suppress(OSError, AttributeError):  # of glibc alone
        ctypes.CDLL(None).malloc_trim(0)
    LEFT[0] = resident()


LEAST_TO_FREE = 1 << 27  # bytes
LEFT = [0]  # bytes of this process when it was freed last


def resident() -> int:
    """How many bytes this process has in memory; where nothing says it, more than enough."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return sys.maxsize


@pytest.fixture(scope="session", autouse=True)
def short_opinion() -> int:
    """Searches of tests, each with the second opinion that a user gets, have it of a tenth of the states.

    Returns how many states are usual.
    """
    from checker.opinion import searched

    usual, searched.FEWEST = searched.FEWEST, 20
    return usual


@pytest.fixture
def usual_opinion(short_opinion: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checker.opinion.searched.FEWEST", short_opinion)


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run the tasks of induction here: to start two processes takes seconds, which tests of wording need not spend."""
    if not (HERE.parent / "checker/proofs").is_dir():  # the wing is missing
        yield
        return
    from checker.proofs.symbolic import pool
    from tests.small_protocols import Here, forgotten

    here = SimpleNamespace(get_context=lambda _: SimpleNamespace(Pool=lambda *_: Here()), active_children=list)
    monkeypatch.setattr(pool, "multiprocessing", here)
    yield
    forgotten()


@pytest.fixture(scope="session")
def local_spark() -> Iterator[LocalSpark]:
    shared = LocalSpark()
    yield shared
    shared.end()
