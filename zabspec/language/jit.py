"""Machine code: LLVM assembly compiled once, kept in the user's cache folder, loaded by address.

The cache is content-addressed: the key is a hash of everything the code depends on. An entry is
written to a name of its own and then renamed, so that processes may race for it; it carries a
checksum, so that a damaged one is made again; and where the folder cannot be written the code is
compiled each time.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

__all__ = ["MachineCode", "cache_folder", "compile_cached", "has_bit_gather", "machine_name"]

MAGIC = b"zabcheck object 1\n"
_ready = False


def _initialize() -> None:
    global _ready
    if not _ready:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        _ready = True


def machine_name() -> str:
    """What object code depends on besides its source: processor, its features, and versions."""
    features = llvm.get_host_cpu_features().flatten()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {features} llvmlite {llvmlite.__version__} {python}"


def has_bit_gather() -> bool:
    """Whether the processor gathers and scatters bits in one instruction (x86 BMI2)."""
    return bool(llvm.get_host_cpu_features().get("bmi2", False)) and llvm.get_process_triple().startswith("x86_64")


def cache_folder() -> Path:
    """The folder for compiled code: ZABCHECK_CACHE, or zabcheck/ in the user's cache folder."""
    chosen = os.environ.get("ZABCHECK_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "zabcheck"


class MachineCode:
    """Loaded code: the addresses of its exported functions, and what was kept beside it."""

    def __init__(self, code: bytes, facts: dict[str, Any]) -> None:
        _initialize()
        self.facts = facts
        module = llvm.parse_assembly("")
        self._machine = _target_machine()
        self._engine = llvm.create_mcjit_compiler(module, self._machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        """An exported function by name, called through ctypes (which lets other threads run).

        Raises:
            KeyError: the code exports no such function.
        """
        address = self._engine.get_function_address(name)
        if not address:
            raise KeyError(name)
        function: Any = ctypes.CFUNCTYPE(result, *arguments)(address)
        function.code = self  # the code must live as long as what calls it
        return function  # type: ignore[no-any-return]


def _target_machine() -> llvm.TargetMachine:
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
    )


def compile_text(assembly: str) -> bytes:
    """Object code of LLVM assembly for this machine. Unrolling and vectorizing double the time to
    compile and buy nothing here: the loops are short and full of branches. So do the passes over whole modules,
    where the text says what to inline."""
    _initialize()
    module = llvm.parse_assembly(assembly)
    module.verify()
    machine = _target_machine()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_unrolling = False
    options.loop_vectorization = False
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    inliner = llvm.create_new_module_pass_manager()
    inliner.add_always_inliner_pass()
    inliner.add_global_dead_code_eliminate_pass()
    inliner.run(module, builder)
    passes = builder.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
    return bytes(machine.emit_object(module))


def compile_cached(
    key: str,
    make: Callable[[], tuple[str, Mapping[str, Any]]],
    examine: Callable[[MachineCode], Mapping[str, Any]],
) -> MachineCode:
    """The code for a key, from the cache or made now.

    Args:
        key: names everything the code depends on.
        make: gives the assembly and JSON-able facts to keep beside the code.
        examine: runs the new code once, for more such facts.
    """
    name = hashlib.sha256(f"{key}\n{machine_name()}".encode()).hexdigest()
    path = cache_folder() / f"{name[:40]}.o"
    found = _read(path)
    if found is not None:
        return MachineCode(*found)
    assembly, facts = make()
    code = compile_text(assembly)
    made = MachineCode(code, dict(facts))
    made.facts.update(examine(made))
    _write(path, code, made.facts)
    return made


def _read(path: Path) -> tuple[bytes, dict[str, Any]] | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head = len(MAGIC)
    if data[:head] != MAGIC or hashlib.sha256(data[head + 32 :]).digest() != data[head : head + 32]:
        return None
    size = int.from_bytes(data[head + 32 : head + 40], "little")
    facts = json.loads(data[head + 40 : head + 40 + size])
    return data[head + 40 + size :], facts


def _write(path: Path, code: bytes, facts: dict[str, Any]) -> None:
    text = json.dumps(facts).encode()
    body = len(text).to_bytes(8, "little") + text + code
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(MAGIC + hashlib.sha256(body).digest() + body)
            os.replace(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
