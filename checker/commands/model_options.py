"""The options that say which model is meant, and which of its properties are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import Cannot, near, protocol_named

if TYPE_CHECKING:
    from invariants.registry import Property
    from zabspec.model import Configuration, Model

__all__ = ["LITERAL", "check_initial", "chosen_properties", "configured", "required_witnesses"]

LITERAL = "invariant-5-literal"  # the property that needs more of the observed history than others do


def chosen_properties(names: Sequence[str], protocol: str) -> list[Property]:
    """The properties named, or all that are judged by default.

    Raises:
        UsageError: there is no such property, or it is named twice.
    """
    from invariants import NO_RUNTIME_ERROR, properties_of, property_named

    known, chosen = properties_of(protocol), []
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(f"--property {name} is given twice")
        try:
            chosen.append(property_named(name, known))
        except KeyError:
            hint = near(name, [p.name for p in known]) or f"; {properties_command(protocol)} lists them"
            raise click.UsageError(f"there is no property {name!r}{hint}") from None
        if not chosen[-1].judges(protocol):
            raise click.UsageError(
                f"{name} speaks of the state of {' and '.join(chosen[-1].protocols)}, not of {protocol}"
            )
    usual = [p for p in known if p.default and p.judges(protocol)]
    if NO_RUNTIME_ERROR in chosen:  # it is built in, and always checked
        return [p for p in chosen if p != NO_RUNTIME_ERROR]
    if not chosen and not usual:
        raise click.UsageError(f"{protocol} claims no property: mark one with @safety(witness=...)")
    return chosen or usual


def properties_command(protocol: str) -> str:
    """What lists the properties of a protocol."""
    from zabspec.own.sources import is_elsewhere

    return f"`zabcheck properties --protocol {protocol}`" if is_elsewhere(protocol) else "`zabcheck properties`"


def required_witnesses(given: Sequence[str], judged: Sequence[str]) -> list[str]:
    """The properties whose premise has to be reached.

    Raises:
        UsageError: one is not judged.
    """
    names = [name.strip() for words in given for name in words.split(",")]
    for name in names:
        if name not in (*judged, "all"):
            hint = near(name, judged) or f"; there are all, {', '.join(judged)}"
            raise click.UsageError(f"--require-witness {name}: no such property is judged{hint}")
    return list(judged) if "all" in names else names


def configured(options: Mapping[str, Any], literal: bool) -> Configuration:
    """
    Raises:
        UsageError: there is no such configuration.
    """
    from zabspec.model import ConfigError, Configuration
    from zabspec.worlds.steps import BUDGETS

    values = {name: options[name] for name in ("protocol", "variant", "nodes", "txns")}
    values["network"] = options.get("network", "")
    values["start"] = options.get("start", "")
    values["budgets"] = ",".join(options.get("own_budgets", ()))
    values |= {name: options[name] for name in BUDGETS if options.get(name) is not None}
    protocol, variant = protocol_named(options["protocol"]), options["variant"]
    for name in variant.replace("+", ",").split(",") if variant else ():
        if name.strip() not in protocol.variants:
            whose = "" if protocol.name == "zab" else f" of {protocol.name}"
            listed = f" --protocol {protocol.name}" if protocol.text is not None else ""
            hint = near(name, protocol.variants) or f"; `zabcheck variants{listed}` lists them"
            raise click.UsageError(f"there is no variant {name!r}{whose}{hint}")
    try:
        if release := options.get("release", ""):
            from checker.zookeeper.releases import variant_of

            variant = ",".join(filter(None, (variant_of(protocol.name, release), variant)))
        values["variant"] = protocol.combined(variant, options.get("repair", ""))
        return Configuration(
            **values,
            literal=literal,
            max_epoch=options["max_epoch"] or 0,
            channel=options["channel"] or 0,
            promises=options.get("reduction") in (None, "auto"),
        )
    except ConfigError as problem:
        raise click.UsageError(str(problem)) from None


def check_initial(model: Model) -> None:
    """
    Raises:
        Cannot: a value would leave its range before any step is taken.
    """
    from zabspec.language.reference import ERRORS, range_error

    try:
        model.program.initial()
    except ERRORS as problem:
        said = range_error(problem, "the initial state")
        raise Cannot(f"no verdict: a value would leave its range: {said}") from None
