"""`zabcheck --mutate N`: which small changes of a user protocol no property notices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import protocol_named, say

if TYPE_CHECKING:
    from checker.mutate.run import Campaign

__all__ = ["mutate", "refuse_what_mutants_have_not"]

# what an exploration says of itself, and the check of mutants does not
NOT_OF_MUTANTS = (
    "live", "search", "goals", "required", "keep_going", "no_symmetry", "reduction", "master", "checkpoint", "resume",
    "fingerprint", "symbolic", "junit", "html", "trace", "no_trace",
)  # fmt: skip


def refuse_what_mutants_have_not(options: Mapping[str, Any]) -> None:
    """
    Raises:
        UsageError: an option does not go with `--mutate`.
    """
    if options.get("mutate") is None:
        return
    for name in NOT_OF_MUTANTS:
        if options.get(name):
            flag = {"required": "require-witness", "goals": "goal"}.get(name, name.replace("_", "-"))
            raise click.UsageError(f"--{flag} does not go with --mutate")
    if options["engine"] != "compiled":
        raise click.UsageError(f"--mutate does not go with --engine {options['engine']}")
    protocol = protocol_named(options["protocol"])
    if protocol.text is None or not options["protocol"].endswith(".py"):
        raise click.UsageError("--mutate is for a protocol in a file of your own: --protocol FILE.py")


def mutate(options: Mapping[str, Any]) -> int:
    """Check the mutants of a protocol and report; returns the exit code.

    Raises:
        UsageError: the question was wrong.
        Cannot: there is no answer.
    """
    from checker.commands.model_options import check_initial, chosen_properties, configured
    from checker.explore.result import Limits
    from checker.mutate.report import MutationReport
    from checker.mutate.run import check_mutants
    from checker.report.progress import StatusLine
    from zabspec.model import Model

    judged = chosen_properties(options["names"], options["protocol"])
    configuration = configured(options, literal=False)
    check_initial(Model(configuration))
    limits = Limits(options["depth"], options["max_states"], options["time_limit"], options["memory_limit"])
    with StatusLine() as line:

        def progress(campaign: Campaign) -> None:
            if line.due():
                line.show(f"{len(campaign.judged)} of {campaign.wanted} mutants checked")

        found = check_mutants(
            configuration, judged, options["mutate"], options["seed"] or 0, limits, options["threads"] or 0, progress
        )
    report = MutationReport(found, options["protocol"])
    return say(json.dumps(report.as_json(), indent=1) if options["as_json"] else report.text(), report.exit_code)
