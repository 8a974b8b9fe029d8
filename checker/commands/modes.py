"""`zabcheck` without a subcommand: explores, or does what `--live`, `--search` or `--mutate` asks for instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checker.commands.explore import answer, publish
from checker.commands.live import live, refuse_what_goals_have_not
from checker.commands.mutate import mutate, refuse_what_mutants_have_not
from checker.commands.search import refuse_what_a_search_has_not, search

__all__ = ["run"]


def run(options: Mapping[str, Any]) -> int:
    """Run the command without a subcommand, and report; returns the exit code.

    Raises:
        UsageError: the question was wrong.
    """
    refuse_what_mutants_have_not(options)
    refuse_what_goals_have_not(options)
    if options["live"]:
        return live(options)
    refuse_what_a_search_has_not(options)
    if options["search"] is not None:
        return search(options)
    if options.get("mutate") is not None:
        return mutate(options)
    return publish(answer(options), options)
