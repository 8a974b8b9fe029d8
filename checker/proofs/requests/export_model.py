"""Write a whole model as a TLA+ module, with a configuration for TLC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from checker.errors import HELD, RequestError
from checker.output_files import check_writable, save_file
from checker.report.answer import Answered
from checker.report.result import Part
from checker.requests.base.model import ModelRequest, check_initial
from checker.requests.base.request import Names, Option, function, names_in
from checker.requests.base.watch import QUIET, Watch
from checker.requests.export import TLA, Form, Output
from checker.requests.properties import chosen_properties


@dataclass(frozen=True, repr=False)
class ModelExported(Answered):
    """A model as a TLA+ module, and the configuration of TLC.

    Attributes:
        module: the module.
        configuration: of TLC.
        request: the request.
    """

    module: str
    configuration: str
    request: ExportModel

    kind = "export-model"
    exit_code = HELD

    @property
    def sentence(self) -> str:
        where = f", saved as {self.request.output}" if self.request.output else ""
        return f"a module of {len(self.module.splitlines()):,} lines{where}"

    @property
    def raw(self) -> str:
        both = f"{self.module}The configuration, {self.request.stem}.cfg:\n\n{self.configuration}"
        return "" if self.request.output else both

    def parts(self) -> Sequence[Part]:
        return ()

    def details(self) -> dict[str, Any]:
        return {"module": self.module, "configuration": self.configuration}


@dataclass(frozen=True)
class ExportModel(ModelRequest):
    """Write a whole model as a TLA+ module, with a configuration for TLC beside it."""

    kind: ClassVar[str] = "export-model"
    mode: ClassVar[str | Option] = Option(
        "Export a whole model instead of a trace, to tla; the options below are its configuration.", flag="model"
    )

    form: Form = TLA
    output: Output = ""
    properties: Annotated[
        Names, Option("Write only this property (repeatable).", flag="property", metavar="NAME", complete="properties")
    ] = ()
    symmetry: Annotated[bool, Option("Make TLC count renamings of a state separately.", off=True)] = True

    def validate(self) -> None:
        if self.form != TLA:
            raise RequestError(f"a model is exported --to tla, not to {self.form}")
        if not self.output:
            return
        path = Path(self.output)
        if path.suffix != ".tla" or not path.stem.isidentifier() or not path.stem.isascii():
            raise RequestError(f"--output must be a file NAME.tla, where NAME is the module's name, not {path}")

    @property
    def stem(self) -> str:
        """The module's name."""
        return Path(self.output).stem or "Model"

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are written: the module and its configuration."""
        return (Path(self.output), Path(self.output).with_suffix(".cfg")) if self.output else ()

    def answer(self, watch: Watch = QUIET) -> ModelExported:
        from checker.proofs.tla.module import Untranslatable, module_of
        from zabspec.model import Model

        configuration = self.configuration()
        properties = chosen_properties(names_in(self.properties), configuration.protocol)
        for path in self.files:
            check_writable(path, "--output", regular=True)
        model = Model(configuration)
        check_initial(model)
        try:
            found = module_of(model, properties, self.stem)
        except Untranslatable as problem:
            raise RequestError(f"this model cannot be written as a module: {problem}") from None
        texts = found.text, found.configured(symmetry=self.symmetry)
        for path, text in zip(self.files, texts, strict=False):
            save_file(path, text.encode())
        return ModelExported(*texts, self)


export_model = function(ExportModel)
