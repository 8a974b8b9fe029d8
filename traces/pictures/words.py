"""Describe a step by the protocol's docstrings: the first paragraphs of the functions that it entered."""

from __future__ import annotations

from functools import lru_cache

from traces.record.trace import Step
from zabspec.model import Model
from zabspec.properties import first_paragraph


def words_of(model: Model, step: Step) -> list[tuple[str, str]]:
    """Return the names of the functions that a step entered, each with the first paragraph of its docstring.

    Args:
        model: the model of the run.
        step: the step.
    """
    said, row = _said(model), step.word.row
    names = dict.fromkeys(step.label.removeprefix(row.called).strip(" ,()").split(", "))
    out = [(name, said[name]) for name in names if said.get(name)]
    if step.message is not None and row.receives:
        function = model.protocol.text.receipts.get(step.message.kind)
        if function is not None and function.__doc__:
            out.append((step.message.kind, first_paragraph(function.__doc__)))
    return out


@lru_cache(maxsize=8)
def _said(model: Model) -> dict[str, str]:
    """Return the first docstring paragraph of each named step of the protocol, by name."""
    out: dict[str, str] = {}
    for value in model.program.namespace.values():
        name = getattr(value, "paper_step", None)
        if name is not None and value.__doc__:
            out.setdefault(name, first_paragraph(value.__doc__))
    return out
