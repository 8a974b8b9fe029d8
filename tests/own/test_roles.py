"""Protocols with roles: what counts once, what is refused, and how processes are named (docs/decisions/0022)."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from checker.explore.symmetry import found_in
from checker.live.report import Starving
from invariants import properties_of
from tests.second.harness.plain import Renamer, canonical
from tests.second.harness.question import Question
from tests.second.reference import explore
from traces.explain.names import message_text
from traces.pictures import to_svg
from traces.record.fair import NotFair, hold_fair
from traces.record.file import read_trace
from traces.record.lasso import Lasso
from traces.record.trace import Transmission
from zabspec.authoring.declaration import ConfigError
from zabspec.authoring.unused import unused
from zabspec.language.layout.notation import named_by
from zabspec.model import Configuration, Model
from zabspec.roles import Roles
from zabspec.simulator.run import Run, play

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXT = (Path(__file__).parent / "texts/asked.py").read_text(encoding="utf-8")


def written(folder: Path, *changes: tuple[str, str]) -> str:
    """The text with pieces of it replaced, as a file."""
    text = TEXT.replace("any_of,", "any_of, any_process, is_a, only,", 1)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / "asked.py"
    path.write_text(text)
    return str(path)


def orbits(states: list[str], question: Question) -> int:
    """How many orbits there are of states, each process being called otherwise within its role."""
    renamer = Renamer(question.plain, "", question.configuration.roles)
    return len({renamer.orbit(text)[0] for text in states})


@pytest.mark.parametrize("name", ["two_phase_commit", "lease", "asked"])
def test_orbits_are_those_of_the_product_of_groups(name: str, tmp_path: Path) -> None:
    """Counted by plain renaming of all states that the second semantics reaches."""
    path = written(tmp_path) if name == "asked" else str(EXAMPLES / f"{name}.py")
    budgets = {"lease": {"ticks": 2, "asks": 2}, "asked": {"asked": 2}, "two_phase_commit": {"participant": 2}}[name]
    asked = {"protocol": path, "nodes": None, "network": "datagrams", "budgets": budgets, "properties": []}
    question = Question(asked)
    every = explore(asked)
    texts = [canonical(state) for state in every["states"]]
    found = Interpreter(question.model, (), True, every_step=True).run(Limits(), False)
    assert found.complete
    assert sum(found.raw_levels) == len(every["states"])
    assert sum(found.levels) == orbits(texts, question) < len(every["states"])


def test_renamings_keep_every_process_in_its_role() -> None:
    roles = Roles.of({"client": 2, "server": 3})
    every = {p for p in permutations(range(5)) if all((x < 2) == (y < 2) for x, y in enumerate(p))}
    assert set(roles.renamings) == every
    assert len(roles.renamings) == len(every) == 12
    assert roles.renamings[0] == (0, 1, 2, 3, 4)
    assert roles.names == ("client1", "client2", "server1", "server2", "server3")


APART = [
    (
        "q in s.served_by[c] and",
        "q == 2 and q in s.served_by[c] and",
        "a number is used as a member of a set of processes",
    ),
    ("for q in processes(s, Server)", "for q in range(2, 3)", "is not over range(s.NODES)"),
]


@pytest.mark.parametrize(("old", "new", "said"), APART)
def test_what_tells_members_of_a_role_apart_ends_symmetry(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = written(tmp_path, (old, new))
    assert said in Compiled.of(Model(Configuration(path)), properties_of(path), True)[1]


def test_what_tells_apart_is_named_as_the_author_does(tmp_path: Path) -> None:
    """A function of the file is kept apart from those of its world by another name, which nobody reads."""
    turn = "def turn(s: State, k: int) -> Node:\n    return k % s.NODES\n\n\n"
    seen = "    s.served_by[p].add(source)\n"
    use = (seen, f"{seen}    s.seen[p] = turn(s, turn(s, 1)) == p\n")
    path = written(tmp_path, use, ("@receives\ndef on_tell", f"{turn}@receives\ndef on_tell"))
    reasons = {found.reason for found in found_in(Model(Configuration(path)), ())}
    assert "turn returns a number where a process is expected" in reasons
    assert "a process is passed to turn as the integer k" in reasons


def test_a_process_of_any_role_is_chosen_with_symmetry(tmp_path: Path) -> None:
    choice = ("    s.asks[p] = True\n", "    s.asks[p] = True\n    send(s, p, p, SEEN(who=any_process(s)))\n")
    seen = "@receives\ndef on_seen(s: State, p: Node, m: SEEN) -> None:\n    s.seen[p] = m.who == p\n\n\n@receives\n"
    mail = ("class TELL", "class SEEN(MessageType):\n    who: Node\n\n\nclass TELL")
    path = written(tmp_path, choice, mail, ("@receives\n", seen))
    model = Model(Configuration(path, budgets="asked=1"))
    code, why = Compiled.of(model, (), True)
    assert why == ""
    first = Interpreter(model, (), True).run(Limits(depth=1), False)
    assert first.raw_levels[1] == 2 * 2 * 4  # two clients, each of two servers, each of four processes
    assert first.levels[1] == 3 + 1 + 0  # another server, the one that is asked, the other client, itself
    assert code.model is model


def test_a_process_of_any_role_may_be_asked_for_its_role(tmp_path: Path) -> None:
    """`is_a` before what one role alone has."""
    shown = "    s.seen[p] = True\n    if is_a(s, p, Server):\n        s.owner[p] = NOBODY\n"
    path = written(tmp_path, ("def serve(", f"def on_start(s: State, p: Node) -> None:\n{shown}\n\ndef serve("))
    Question({"protocol": path, "nodes": None, "network": "", "budgets": {}, "properties": ["owned"]}).check()


SIZES = [
    ({"nodes": 5}, "--nodes is not for"),
    ({"parameters": "client=19"}, "--client 19 and --server 2 are 21 processes: a model has at most 20"),
    ({"parameters": "client=0"}, "--client must be 1 to 20, not 0"),
    ({"quorums": "weights 1,1,1,1"}, "--quorums is not for"),
    ({"parameters": "client=3", "roles": "client=2,server=2"}, "by the parameters the roles are client=3,server=2"),
]


@pytest.mark.parametrize(("given", "said"), SIZES)
def test_sizes_that_there_cannot_be_are_refused(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as problem:
        Configuration(written(tmp_path), **given)
    assert said in str(problem.value)


def test_sizes_of_roles_are_part_of_the_question(tmp_path: Path) -> None:
    c = Configuration(written(tmp_path), parameters="server=3")
    assert (c.nodes, c.roles, c.renamings) == (5, "client=2,server=3", 12)
    assert c == Configuration(c.protocol, roles="client=2,server=3") == Configuration(**c.as_dict())
    assert Configuration("zab").roles == ""
    assert "roles" not in Configuration("zab").as_dict()


def test_a_trace_names_processes_by_their_roles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the text and the pictures; its file says the sizes, and replays."""
    monkeypatch.chdir(tmp_path)
    words = ["--protocol", str(EXAMPLES / "two_phase_commit.py"), "--variant", "hasty", "--participant", "3"]
    made = CliRunner().invoke(main, [*words, "--trace", "t.json", "--engine", "interpret"])
    assert made.exit_code == 1
    assert "coordinator1 -> participant1: PREPARE()" in made.stdout
    assert "has committed, and participant" in " ".join(made.stdout.split())
    assert not re.search(r"(?<![\w./])p[0-3]\b", made.stdout)  # a directory's name may have one
    trace = read_trace("t.json")
    assert trace.configuration.roles == "coordinator=1,participant=3"
    told = CliRunner().invoke(main, ["replay", "t.json"]).stdout
    assert "participant1: receive on PREPARE from coordinator1" in told
    picture = to_svg(trace)
    assert "participant2" in picture
    assert not re.search(r"\bp[0-3]\b", picture)


def test_a_simulated_run_has_the_roles_of_its_sizes(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(ConfigError, match=r"the roles of .* are client=2,server=2"):
        Run(1, 5, protocol=path)
    run = Run(1, 5, rounds=60, protocol=path, parameters="client=3")
    assert run.parameters == "client=3,server=2"
    assert play(run, "interpret").state.CLIENT == 3
    shown = CliRunner().invoke(
        main, ["simulate", "--protocol", path, "--client", "1", "--engine", "interpret", "--show"]
    )
    rows = [line.split() for line in shown.stdout.splitlines() if line.startswith(("client", "server"))]
    assert [row[0] for row in rows] == ["client1", "server1", "server2"]
    assert [len(row) for row in rows] == [4, 3, 3]  # fields of another role are not shown


def test_sentences_of_other_verdicts_name_processes_by_roles(tmp_path: Path) -> None:
    """Of a run that is judged in the simulator, and of one in which somebody waits for ever."""
    never = ("if q in s.served_by[c] and s.owner[q] == NOBODY:\n                return False", "return broken(f'p{q}')")
    path = written(tmp_path, ("NOBODY,", "NOBODY, broken,"), never)
    words = ["simulate", "--protocol", path, "--rounds", "9", "--check", "--engine", "interpret"]
    told = CliRunner().invoke(main, words).stdout
    assert re.search(r"owned +violated at tick 0 +server1\.\n", told)
    waits = Lasso("comes", "Servers wait.", path, 2, None, 0, None)
    found = Starving(Configuration(path), (), waits, None)  # type: ignore[arg-type]
    assert found.sentence.startswith("server1 starves after 0 steps")


WAITS = """
@progress
def is_served(s: State, p: {kind}) -> bool:
    \"\"\"Who has asked is served.\"\"\"
    return {waits}
"""


@pytest.mark.parametrize(
    ("kind", "waits", "second", "said"),
    [
        ("Client", "not s.seen[p]", "violated", "VIOLATED: client1 starves"),
        ("Node", "is_a(s, p, Server)", "violated", "VIOLATED: server1 starves"),
        ("Client", "is_a(s, p, Server)", "held", "premise not reached: no process ever waits"),
    ],
)
def test_a_progress_property_takes_a_role(kind: str, waits: str, second: str, said: str, tmp_path: Path) -> None:
    """As the second semantics has it, and only a process of that role waits: the lasso is replayed."""
    goal = WAITS.format(kind=kind, waits=waits)
    path = written(tmp_path, ("is_quorum,", "is_quorum, progress,"), ("PROTOCOL =", f"{goal}\n\nPROTOCOL ="))
    asked = {"protocol": path, "nodes": None, "network": "datagrams", "properties": [], "live": True}
    budgets = {"asked": 1, "client": 1, "server": 2}
    assert explore({**asked, "budgets": {**budgets, "drops": 1}})["goals"]["is-served"]["result"] == second
    given = ["--live", "--protocol", path, "--asked", "1", "--client", "1", "--drops", "1"]
    told = CliRunner().invoke(main, [*given, "--trace", str(tmp_path / "waits.json")])
    assert said in " ".join(told.stdout.split())
    if second == "violated":
        trace = read_trace(tmp_path / "waits.json")
        assert trace.lasso is not None
        other = replace(trace.lasso, process=1 if kind == "Client" else 0)
        with pytest.raises(NotFair, match="does not wait"):
            hold_fair(trace.model, trace.schedule, other)


def test_all_products_of_small_roles_are_groups() -> None:
    """Closed under composition, so that orbits are classes."""
    for sizes in product((1, 2, 3), repeat=2):
        every = set(Roles.of({"a": sizes[0], "b": sizes[1]}).renamings)
        assert all(tuple(p[k] for k in q) in every for p in every for q in every)


def test_hooks_of_roles_are_called(tmp_path: Path) -> None:
    """Nothing says that nothing calls what a role has instead of `on_recovery`."""
    hook = "def on_recovery_server(s: State, p: Server) -> None:\n    s.seen[p] = True\n\n\n"
    path = written(tmp_path, ("def some(", hook + "def some("), ('{"asked": 2}', '{"asked": 2, "crashes": 1}'))
    assert unused(Model(Configuration(path))) == []


def test_sets_of_processes_in_messages_are_named(tmp_path: Path) -> None:
    model = Model(
        Configuration(
            written(tmp_path, ("class TELL(MessageType): ...", "class TELL(MessageType):\n    by: set[Server]"))
        )
    )
    with named_by(model.configuration.played):
        assert message_text(Transmission("TELL", {"by": [2, 3]}, 2, 0, 0, 1), model) == "TELL(by={server1, server2})"


def test_a_run_time_error_names_processes_by_roles(tmp_path: Path) -> None:
    counts = ("    serve(s, p, source)\n", "    s.count[p] += 1\n    serve(s, p, source)\n")
    field = 'class State(Fields):\n    count: Each[Server, Annotated[int, Range(0, 0)]] = stored("how often")\n'
    more = (
        ("class State(Fields):\n", field),
        ("    NOBODY,", "    NOBODY, Range,"),
        ("import NewType", "import Annotated, NewType"),
    )
    path = written(tmp_path, counts, *more)
    told = CliRunner().invoke(main, ["--protocol", path, "--engine", "interpret", "--no-trace"]).stdout
    assert "count[server1] would be 1, declared 0..0" in " ".join(told.split())
    assert "with s.count[p] = 0, p = server1" in told
