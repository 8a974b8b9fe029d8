"""`zabcheck export --model`: a model as a TLA+ module and its configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from checker.commands.common import HELD, NoVerdict, check_writable, say, write_file
from checker.commands.requested import model_request
from checker.requests.properties import chosen_properties

__all__ = ["export_model"]


def export_model(trace: Path | None, form: str, output: Path | None, **flags: Any) -> int:
    """Write the module; the configuration beside it, or on stdout behind its end.

    Raises:
        UsageError: there is no such model, or no module says it.
        NoVerdict: a file cannot be written.
    """
    if trace is not None:
        raise click.UsageError("--model writes a model, and a trace is given: one of the two")
    if form != "tla":
        raise click.UsageError(f"a model goes --to tla, not to {form}")
    configuration = model_request(**flags).configuration()
    properties = chosen_properties(flags["names"], configuration.protocol)
    name = "Model" if output is None else output.stem
    if output is not None:
        if output.suffix != ".tla" or not name.isidentifier() or not name.isascii():
            raise click.UsageError(f"--output of a module is a file NAME.tla, and NAME is the module's: not {output}")
        for path in (output, output.with_suffix(".cfg")):
            check_writable(path, "--output", regular=True)

    from checker.tla.module import Untranslatable, module_of
    from zabspec.model import Model

    try:
        module = module_of(Model(configuration), properties, name)
    except Untranslatable as problem:
        raise click.UsageError(f"no module says this model: {problem}") from None
    beside = module.configured(symmetry=not flags["no_symmetry"])
    if output is None:
        return say(module.text + f"The configuration, {name}.cfg:\n\n{beside}", HELD)
    for path, text in ((output, module.text), (output.with_suffix(".cfg"), beside)):
        trouble = write_file(path, text.encode())
        if trouble:
            raise NoVerdict(trouble)
    return HELD
