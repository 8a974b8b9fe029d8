"""Scenarios: stories of a protocol as text, a command and then the output it must give.

A file of `tests/scenarios/` is read a line at a time: `#` begins a comment, a line indented by four
spaces is output of the command above it, and any other is a command. `played` gives the text with
its outputs made anew, so that a test compares and `--rewrite` writes. Nothing is guessed: a command
that is not understood, or could mean two things, is a `ScenarioError` with file and line.

`start` begins a run in the explorer's world, a step a command; `simulate` begins one in the
simulator. `docs/scenarios.md` has the commands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.scenario_steps import Stepped
from tests.scenario_story import Output, Story, Trouble
from tests.scenario_ticks import Simulated
from traces import TraceError
from traces.explain.text import configuration_text
from zabspec.model import ConfigError, Configuration
from zabspec.simulator.run import Run, SimulationError
from zabspec.worlds.steps import BUDGETS

__all__ = ["Played", "Scenario", "ScenarioError", "played"]

INDENT = "    "

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
class Played:
    """A scenario that was played.

    Attributes:
        text: the file as it ought to be.
        runs: its runs in the explorer's world.
    """

    text: str
    runs: tuple[Stepped, ...]


def played(scenario: Scenario) -> Played:
    """Play a scenario.

    Raises:
        ScenarioError: a line is no command, or asks for what there is not.
    """
    story: Story | None = None
    runs: list[Stepped] = []
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
                    output = story.do(line)
                out += [INDENT + said for said in output]
                after_command = True
        except (Trouble, ConfigError, TraceError, SimulationError) as problem:
            raise ScenarioError(f"{scenario.name}:{number}: {problem}") from problem
    return Played("\n".join(out) + "\n", tuple(runs))


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
