"""Modules that a file names in its declaration are parts of its text: found beside it, read anew when they change, and
kept apart from what the world calls its own."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Limits
from tests.sources import never, some
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.worlds.actor import HOOKS
from zabspec.worlds.priority import ORDERING

TEXT = (
    '''"""One may lead."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import NOBODY, Each, Fields, Node, OneOf, Variant, connect, declare, disconnect, safety, volatile

LOOKING, FOLLOWING, LEADING = range(3)


class State(Fields):
    role: Each[Node, Annotated[int, OneOf("LOOKING", "FOLLOWING", "LEADING")]] = volatile("where it stands")
    leader: Each[Node, Node] = volatile("whom it follows")


def on_oracle(s: State, p: Node, l: Node) -> None:
    s.leader[p] = l
    s.role[p] = LEADING if l == p else FOLLOWING
    connect(s, p, l)


def on_timeout(s: State, p: Node) -> None:
    disconnect(s, p)
    s.role[p] = LOOKING
    s.leader[p] = NOBODY


'''
    + some("one_leads", "s.role[p] == LEADING", "A process leads.")
    + '''@safety(witness=one_leads)
def one_leader(s: State) -> bool:
    """Not two lead."""
    count = 0
    for p in range(s.NODES):
        if s.role[p] == LEADING:
            count = count + 1
    return count < 2

'''
)
LAST = 'PROTOCOL = declare(__name__, world="connections", budgets={"timeouts": 1, "partitions": 1}, '
HEAD = """from __future__ import annotations

from zabcheck.language import NOBODY, Node, State, Variant, disconnect

"""
LATE = """
OPEN = 2


def HELPER(s: State, p: Node) -> bool:
    return s.role[p] == OPEN


def late(s: State, p: Node) -> None:
    disconnect(s, p)
    if HELPER(s, p):
        s.role[p] = 0
        s.leader[p] = NOBODY

"""
NO_LIMITS = Limits(None, None, None, None)


def written(folder: Path, argument: str, more: str = "", **beside: str) -> str:
    folder.mkdir(exist_ok=True)
    for name, text in beside.items():
        (folder / f"{name}.py").write_text(HEAD + text)
    path = folder / "own_text.py"
    path.write_text(f"{TEXT}{more}{LAST}{argument})\n")
    return str(path)


def levels_of(path: str, variant: str = "") -> list[int]:
    model = Model(Configuration(path, variant=variant))
    return Explorer(Compiled.of(model, [], False)[0], 1).run(NO_LIMITS, True).levels


@pytest.mark.slow(seconds=5)
@pytest.mark.parametrize("helper", ["leads", "cuts", "one_leads"])
def test_a_variant_in_a_module_means_its_own_module_by_its_names(helper: str, tmp_path: Path) -> None:
    """Whatever the world (`cuts`, `OPEN`) or the text calls its own."""
    late = LATE.replace("HELPER", helper)
    variants = 'VARIANTS = [Variant("late", "followers stay", {"on_timeout": late})]\n'
    here = 'variants=[Variant("late", "followers stay", {"on_timeout": late})]'
    one = written(tmp_path / "one", here, LATE.replace("HELPER", "leads_now"))
    other = written(tmp_path / "other", 'variants="more"', more=f"{late}{variants}")
    (tmp_path / "other" / "own_text.py").write_text(f'{TEXT}{LAST}variants="more")\n')
    (tmp_path / "other" / "more.py").write_text(f"{HEAD}{late}{variants}")
    found = levels_of(one, "late")
    assert found == levels_of(other, "late")
    assert found != levels_of(other)
    assert levels_of(one) == levels_of(other)


NAMES = "def oracle_may_name(s: State, p: Node, l: Node) -> bool:\n    return may_so(s, l)\n\n\n"
ASKED = "def may_so(s: State, l: int) -> bool:\n    return s.role[l] < 3\n"


@pytest.mark.slow(seconds=2)
def test_an_oracle_is_read_with_the_text_that_names_it(tmp_path: Path) -> None:
    """Also where another folder has one of the same name, and where it changes."""
    anybody = written(tmp_path / "one", 'oracle="asked"', asked=NAMES + ASKED)
    nobody = written(tmp_path / "other", 'oracle="asked"', asked=(NAMES + ASKED).replace("< 3", "> 3"))
    every = levels_of(written(tmp_path / "none", ""))
    assert len(every) > 3
    assert levels_of(anybody) == every
    assert levels_of(nobody) == [1]
    before = PROTOCOLS[anybody].text.digest
    (tmp_path / "one" / "asked.py").write_text(HEAD + (NAMES + ASKED).replace("< 3", "> 3"))
    assert PROTOCOLS[anybody].text.digest != before
    assert levels_of(anybody) == [1]


DISK = '''"""A process notes that it came back."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Range, Node, action, declare, force, on_disk, stored


class State(Fields):
    disk: Each[Node, Annotated[int, Range(0, 2)]] = on_disk("written")
    noted: Each[Node, Annotated[int, Range(0, 3)]] = stored("how often it came back")


@action(budget="deeds")
def act(s: State, p: Node) -> None:
    s.disk[p] = 1


def on_recovery(s: State, p: Node) -> None:
    NAME(s, pPASSED)


def NAME(s: State, p: NodeTAKEN) -> None:
    s.noted[p] = min(s.noted[p] + 1, 3)


PROTOCOL = declare(__name__, budgets={"power_losses": 1, "deeds": 1}, nodes=2)
'''


@pytest.mark.slow(seconds=8)
def test_a_helper_takes_the_place_of_nothing_that_the_world_has(tmp_path: Path) -> None:
    """Its world calls functions of its own by names that a text may have too."""
    found = {}
    for name in ("note", "came_back", "its_turn_in", "end_inside", "lose_power", "lose"):
        path = tmp_path / f"{name}.py"
        passed, taken = (", 0", ", kept: int") if name == "lose_power" else ("", "")
        path.write_text(DISK.replace("NAME", name).replace("PASSED", passed).replace("TAKEN", taken))
        found[name] = levels_of(str(path))
    assert found == dict.fromkeys(found, found["note"])


def test_hooks_are_what_a_text_is_told_that_it_may_say() -> None:
    """docs/reference/semantics.md, section 3.2: all others are names like any other."""
    told = (Path(__file__).parents[2] / "docs" / "reference" / "semantics.md").read_text()
    part = told[told.index("### 3.2") : told.index("## 4.")]
    table = {n for n in HOOKS if f"\n  {n}(" in part}
    assert HOOKS - table - ORDERING <= {"is_down", "recovering"}


PACKAGED = (
    '''"""A level."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Range, Node, action, declare, safety, stored

LEVEL = 1


class State(Fields):
    level: Each[Node, Annotated[int, Range(0, 9)]] = stored("")


@action(budget="acts")
def act(s: State, p: Node) -> None:
    s.level[p] = LEVEL


def any_state(s: State) -> bool:
    """Any state."""
    return True


'''
    + never("low", "s.level[p] > 1", "No level is above 1.", "any_state")
    + """PROTOCOL = declare(__name__, nodes=1, budgets={"acts": 1})
"""
)


@pytest.mark.parametrize("imported", [False, True])
def test_a_module_of_a_package_is_what_its_file_says_now(
    imported: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A constant that was edited was explored as it had been, in a process that had read or imported the module: no
    function's text differs then, and that alone was refused."""
    package = f"edited_{imported}".lower()
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("")
    path = tmp_path / package / "proto.py"
    path.write_text(PACKAGED)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    words = ["--protocol", f"{package}.proto", "--no-trace"]
    if imported:
        importlib.import_module(f"{package}.proto")
    else:
        assert CliRunner().invoke(main, words).exit_code == 0
    path.write_text(PACKAGED.replace("LEVEL = 1", "LEVEL = 2"))
    for engine in ("compiled", "interpret"):
        done = CliRunner().invoke(main, [*words, "--engine", engine])
        assert done.exit_code == 1, done.output
