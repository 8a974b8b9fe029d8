"""Scenarios: stories of a protocol as text, a command and then the output it must give.

A file of `tests/scenarios/` is read a line at a time: `#` begins a comment, a line indented by four
spaces is output of the command above it, and any other is a command. `played` gives the text with
its outputs made anew, so that a test compares and `--rewrite` writes. Nothing is guessed: a command
that is not understood, or could mean two things, is a `ScenarioError` with file and line.

`p0` is a process, `PS` one or more (`p0, p1 and p2`), `KIND` a message as the protocol names it or, where
several are in flight, all of it as outputs write it: `Propose(txn=t2 <1,2>)`.

`start zab nodes=3 txns=2 crashes=1` begins a run in the explorer's world, a step a command. It takes
`nodes`, `txns`, budgets, `channel`, `max_epoch`, `variant` and `network`. The output is the step and what
it changed; of a step that is not possible, one line.

    p0's oracle names p2                      the leader oracle of a process in ELECTION answers
    the oracles of PS name p2                 one after the other, with one output
    p2 receives from p0; p2 receives KIND from p0; from itself
    PS receive until nothing is in flight between them; everyone receives until nothing is in flight
    everyone receives until nothing but Vote and Ack is in flight
    p2 abcasts; p1 times out; p2 crashes; p2 recovers
    the connection of p0 to p2 is lost        of follower p0 to leader p2
    PS are cut off                            every connection to the others is lost
    p2 learns of the loss of p0               an end of a lost connection learns of it
    p1's election timer fires; p1's heartbeat timer fires             db19
    drop KIND from p0 to p1; drop everything  db19: never received; no step
    show; in flight; check                    each process; what may arrive; every property

Behind `given`, a command has no output: it leads to where a story begins, and another story shows it.

`simulate db19 seed=42 nodes=3 rounds=1000 proposals=5` begins a run of the simulator. It also takes
`least_delay`, `delays`, `variant` and `network`. Name a fault before the run has passed its tick.

    at tick 300 PS are cut off; at tick 600 PS are connected again
    at tick 300 nothing from p0 reaches p1
    at tick 300 p1 crashes; recovers; times out; at tick 300 the connection of p0 to p2 is lost
    run to tick 400                           each process before tick 400, and the SHA-256 of the dump
    check                                     at the end, as `zabcheck simulate --check`
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.scenario_steps import NOT_POSSIBLE, Stepped
from tests.scenario_story import Output, Story, Trouble
from tests.scenario_ticks import Simulated
from traces import TraceError
from traces.explain.text import configuration_text
from zabspec.model import ConfigError, Configuration
from zabspec.simulator.run import Run, SimulationError
from zabspec.worlds.steps import BUDGETS

INDENT = "    "
GIVEN = "given "

# The numbers that a run may be given: in the explorer's world, where budgets are none unless given,
# and in the simulator.
SIZES = ("nodes", "txns", *BUDGETS, "channel", "max_epoch")
FLAGS = ("seed", "nodes", "rounds", "proposals", "least_delay", "delays")


class ScenarioError(Exception):
    """A scenario asks for something there is not: file, line and a sentence."""


@dataclass(frozen=True)
class Scenario:
    """A file's text.

    Attributes:
        name: its path, as complaints give it.
        text: all of it.
        variant: what stands in for the protocol that `start` and `simulate` name.
    """

    name: str
    text: str
    variant: str = ""

    @staticmethod
    def of(path: Path) -> Scenario:
        return Scenario(f"{path.parent.name}/{path.name}", path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Command:
    """A command of a scenario that was played.

    Attributes:
        number: its line.
        text: the command.
        output: what it gave.
        story: the run that it was given to.
        steps: how many steps that run had taken then; 0 in the simulator.
    """

    number: int
    text: str
    output: tuple[str, ...]
    story: Story
    steps: int


@dataclass(frozen=True)
class Played:
    """A scenario that was played.

    Attributes:
        text: the file as it ought to be.
        runs: its runs in the explorer's world.
        commands: its commands.
    """

    text: str
    runs: tuple[Stepped, ...]
    commands: tuple[Command, ...]

    def difference(self, file: str, said: str) -> str:
        """Return where a file first gives another output, and the run to there; empty: nowhere."""
        others = [(c, output) for c, output in zip(self.commands, outputs(said), strict=True) if c.output != output]
        if not others:
            return "" if said == self.text else f"{file}: spaces or empty lines differ"
        first, expected = others[0]
        at = f"line {first.number}: {first.text}"
        diff = [line.rstrip("\n") for line in difflib.ndiff(expected, first.output) if not line.startswith("?")]
        lines = [f"{file}:{first.number}: {first.text}", "the output changes (-: expected, +: given):", *diff, ""]
        if isinstance(first.story, Stepped):
            lines += ["the run to there:", first.story.at_failure(at, first.steps)]
        else:
            before = [c.text for c in self.commands if c.story is first.story and c.number <= first.number]
            lines += ["the simulated run to there:", *before]
        if len(others) > 1:
            lines += ["", f"later outputs that change: {len(others) - 1}, from line {others[1][0].number} on"]
        return "\n".join([*lines, "", "--rewrite writes them (CONTRIBUTING.md)"])


def outputs(text: str) -> list[tuple[str, ...]]:
    """Return the output that a scenario has below each of its commands."""
    out: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith(INDENT):
            out[-1].append(line.removeprefix(INDENT))
        elif line.strip() and not line.startswith("#"):
            out.append([])
    return [tuple(lines) for lines in out]


def played(scenario: Scenario) -> Played:
    """Play a scenario.

    Raises:
        ScenarioError: a line is no command, or asks for what there is not.
    """
    story: Story | None = None
    runs: list[Stepped] = []
    commands: list[Command] = []
    out: list[str] = []
    after_command = False
    for number, line in enumerate(scenario.text.splitlines(), 1):
        try:
            if line.startswith(INDENT):
                if not after_command:
                    raise Trouble("output that no command stands before")
            elif not line.strip() or line.startswith("#"):
                out.append(line.rstrip())
                after_command = False
            else:
                out.append(line)
                begun = begin(line, scenario.variant)
                if begun is not None:
                    story, output = begun
                    runs += [story] if isinstance(story, Stepped) else []
                elif story is None:
                    raise Trouble("a scenario begins with `start` or `simulate`")
                else:
                    output = story.do(line.removeprefix(GIVEN))
                    if line.startswith(GIVEN):
                        if output == NOT_POSSIBLE:
                            raise Trouble("what is given is not possible")
                        output = []
                steps = len(story.steps) if isinstance(story, Stepped) else 0
                commands.append(Command(number, line, tuple(output), story, steps))
                out += [INDENT + said for said in output]
                after_command = True
        except (Trouble, ConfigError, TraceError, SimulationError) as problem:
            raise ScenarioError(f"{scenario.name}:{number}: {problem}") from problem
    return Played("\n".join(out) + "\n", tuple(runs), tuple(commands))


def begin(line: str, variant: str) -> tuple[Story, Output] | None:
    """The run that a line begins, if it does.

    Raises:
        Trouble, ConfigError: there is no such run.
    """
    found = re.fullmatch(r"(start|simulate) (\w+)((?: \w+=[\w-]+)*)", line)
    if not found:
        return None
    verb, protocol, rest = found.groups()
    given = dict(word.split("=") for word in rest.split())
    if len(given) < len(rest.split()):
        raise Trouble("a number is given twice")
    words: dict[str, Any] = {name: given.pop(name) for name in ("variant", "network") if name in given}
    if variant:
        words["variant"] = variant
    known = SIZES if verb == "start" else FLAGS
    for name, value in given.items():
        if name not in known or not value.isdecimal():
            raise Trouble(f"{verb} is given {' '.join(f'{k}=N' for k in known)}, not {name}={value}")
        words[name] = int(value)
    if verb == "simulate":
        return Simulated(Run(protocol=protocol, **words)), []
    budgets = dict.fromkeys(BUDGETS, 0)
    configuration = Configuration(protocol=protocol, **(budgets | words))
    return Stepped(configuration), [configuration_text(configuration)]
