"""Write a whole model as a TLA+ module, with a configuration for TLC."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from checker.errors import RequestError
from checker.output_files import check_writable, save_file
from checker.requests.model import ModelRequest
from checker.requests.properties import chosen_properties
from checker.requests.request import Request


@dataclass(frozen=True)
class ExportModelRequest(Request):
    """A model as a TLA+ module, and the configuration of TLC.

    Attributes:
        model: the model.
        properties: names of those that the module has; empty for all that are checked by default.
        symmetry: whether TLC counts states that are renamings of each other once.
        output: the module's file, `NAME.tla`; the configuration is written beside it. Empty to write nothing.
    """

    kind: ClassVar[str] = "export-model"

    model: ModelRequest = field(default_factory=ModelRequest)
    properties: tuple[str, ...] = ()
    symmetry: bool = True
    output: str = ""

    def validate(self) -> None:
        if not self.output:
            return
        path = Path(self.output)
        if path.suffix != ".tla" or not path.stem.isidentifier() or not path.stem.isascii():
            raise RequestError(f"--output must be a file NAME.tla, where NAME is the module's name, not {path}")

    @property
    def name(self) -> str:
        """The module's name."""
        return Path(self.output).stem or "Model"

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are written: the module and its configuration."""
        return (Path(self.output), Path(self.output).with_suffix(".cfg")) if self.output else ()


def answer(request: ExportModelRequest) -> tuple[str, str]:
    """Return a model as a TLA+ module and its configuration, and write both if the request names a file.

    Raises:
        RequestError: there is no such model, or no module can express it.
        NoVerdict: a file could not be written.
    """
    from checker.tla.module import Untranslatable, module_of
    from zabspec.model import Model

    configuration = request.model.configuration()
    properties = chosen_properties(request.properties, configuration.protocol)
    for path in request.files:
        check_writable(path, "--output", regular=True)
    try:
        found = module_of(Model(configuration), properties, request.name)
    except Untranslatable as problem:
        raise RequestError(f"this model cannot be written as a module: {problem}") from None
    texts = found.text, found.configured(symmetry=request.symmetry)
    for path, text in zip(request.files, texts, strict=False):
        save_file(path, text.encode())
    return texts
