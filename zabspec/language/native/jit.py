"""Compile LLVM assembly to machine code once, keep it in the user's cache folder, and load it.

The cache is content-addressed: the key is a hash of everything the code depends on (`cache_key.py`). An entry is
written under a temporary name and then renamed, so that processes may race for it. It contains its key and the digest
of the assembly that it was compiled from, which is in the code too, and a checksum over all of it: a damaged or
misnamed entry is made again. Machine code is taken only from a folder and a file that this user owns and no other user
can write; there is no protection against those who can write files as this user. Where the folder cannot be used the
code is compiled each time.

Assembly is compiled thoroughly or quickly; `tiered.py` decides.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from zabspec.files import write_whole
from zabspec.limits import need_room
from zabspec.signals import Held, uninterrupted

MAGIC = b"zabcheck object 2\n"
DIGEST = 32  # bytes of a digest
ORIGIN = "zabcheck_assembly"  # the name under which machine code holds the digest of its assembly
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ready = False


def _initialize() -> None:
    global _ready
    if not _ready:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        _ready = True


@cache
@uninterrupted
def host() -> tuple[str, str, str, bool]:
    """Return what processor there is, which never changes: its family and system, name, features, and whether BMI2."""
    features = llvm.get_host_cpu_features()
    name, bmi2 = llvm.get_host_cpu_name(), bool(features.get("bmi2", False))
    return llvm.get_process_triple(), name, features.flatten(), bmi2


def machine_name() -> str:
    """Return what object code depends on besides its source: processor, its features, and versions."""
    triple, name, features, _ = host()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"{triple} {name} {features} llvmlite {llvmlite.__version__} {python}"


def has_bit_gather() -> bool:
    """Return whether the processor gathers and scatters bits in one instruction (x86 BMI2)."""
    triple, _, _, bmi2 = host()
    return bmi2 and triple.startswith("x86_64")


def cache_folder() -> Path:
    """Return the folder for compiled code: ZABCHECK_CACHE, or zabcheck/ in the user's cache folder."""
    chosen = os.environ.get("ZABCHECK_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "zabcheck"


class MachineCode:
    """Loaded code: the addresses of its exported functions, and what was kept beside it.

    Attributes:
        thorough: whether it was compiled thoroughly.
    """

    @uninterrupted
    def __init__(self, code: bytes, facts: dict[str, Any], thorough: bool = True) -> None:
        need_room()
        _initialize()
        self.facts = facts
        self.thorough = thorough
        module = llvm.parse_assembly("")
        self._machine = _target_machine()
        self._engine = llvm.create_mcjit_compiler(module, self._machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    @property
    @uninterrupted
    def origin(self) -> bytes:
        """Return the digest of the assembly that it was compiled from; empty if it is not recorded."""
        address = self._engine.get_global_value_address(ORIGIN)
        return ctypes.string_at(address, DIGEST) if address else b""

    @uninterrupted
    def function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        """Return an exported function by name, called through ctypes (which lets other threads run).

        Raises:
            KeyError: the code exports no such function.
        """
        address = self._engine.get_function_address(name)
        if not address:
            raise KeyError(name)
        function: Any = ctypes.CFUNCTYPE(result, *arguments)(address)
        function.code = self  # the code must live as long as what calls it
        return function  # type: ignore[no-any-return]


def _target_machine(thorough: bool = True) -> llvm.TargetMachine:
    _, cpu, features, _ = host()
    triple = llvm.Target.from_default_triple()
    return triple.create_target_machine(cpu=cpu, features=features, opt=2 if thorough else 0, jit=True)


def compile_text(assembly: str, thorough: bool = True) -> bytes:
    """Compile LLVM assembly to object code for this machine.

    Unrolling and vectorizing double the time to compile without benefit here: the loops are short and full of branches.
    The same holds for passes over whole modules, where the assembly says what to inline.

    Args:
        assembly: the assembly.
        thorough: optimise for fast code rather than for a short compilation.
    """
    assembly += f"\nattributes #0 = {{ nounwind {'alwaysinline' if thorough else 'noinline cold'} }}\n"
    code = None
    while code is None:  # where it was interrupted, the interrupt is raised here, or meant nothing
        with Held() as held:
            code = _compiled(assembly, thorough, held)
    return code


def _compiled(assembly: str, thorough: bool, held: Held) -> bytes | None:
    """Compile assembly; return None if interrupted. All objects of LLVM are freed in here."""
    need_room()
    _initialize()
    module = llvm.parse_assembly(assembly)
    module.verify()
    machine = _target_machine(thorough)
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_unrolling = False
    options.loop_vectorization = False
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    inliner = llvm.create_new_module_pass_manager()
    inliner.add_always_inliner_pass()
    inliner.add_global_dead_code_eliminate_pass()
    inliner.run(module, builder)
    if thorough:
        passes = builder.getFunctionPassManager()
    else:  # of all passes the one that gains most: locals become registers
        passes = llvm.create_new_function_pass_manager()
        passes.add_sroa_pass()
    for function in module.functions:
        if held.waiting:
            return None
        if not function.is_declaration:
            passes.run(function, builder)
    if held.waiting:
        return None
    return bytes(machine.emit_object(module))


def compile_cached(
    key: str,
    make: Callable[[], tuple[str, Mapping[str, Any]]],
    examine: Callable[[MachineCode], Mapping[str, Any]],
    thorough: bool = True,
) -> MachineCode:
    """Return the code for a key, from the cache or compiled now.

    Args:
        key: names everything the code depends on.
        make: returns the assembly and JSON-able facts to keep beside the code.
        examine: runs the new code once, for more such facts.
        thorough: quickly compiled code will not do.
    """
    for way in (True,) if thorough else (True, False):
        found = _read(key, way)
        if found is not None:
            return found
    assembly, facts = make()
    origin = hashlib.sha256(assembly.encode()).digest()
    code = compile_text(assembly + origin_text(origin), thorough)
    made = MachineCode(code, dict(facts), thorough)
    made.facts.update(examine(made))
    _write(known_as(key, thorough), origin, code, made.facts)
    return made


def known_as(key: str, thorough: bool) -> bytes:
    """Return the digest that an entry contains, and is named after."""
    return hashlib.sha256(f"{key}\n{machine_name()}{'' if thorough else ' quick'}".encode()).digest()


def file_name(known: bytes) -> str:
    return f"{known.hex()[:40]}.o"


def origin_text(digest: bytes) -> str:
    """Return the line of assembly by which machine code records what it was compiled from."""
    escaped = "".join(f"\\{byte:02X}" for byte in digest)
    return f'\n@{ORIGIN} = constant [{len(digest)} x i8] c"{escaped}"\n'


@contextlib.contextmanager
def _trusted_folder() -> Iterator[int]:
    """Open the cache folder, which no other user can write.

    Raises:
        OSError: there is none, or others can write it.
    """
    folder = os.open(cache_folder(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        check_own(os.fstat(folder))
        yield folder
    finally:
        os.close(folder)


def check_own(found: os.stat_result) -> None:
    """Check that this user alone can write a file or folder.

    Raises:
        OSError: this user does not own it, or others can write it.
    """
    if found.st_uid != os.geteuid() or found.st_mode & OTHERS_WRITE:
        raise OSError(errno.EPERM, "others can write it")


def _read(key: str, thorough: bool) -> MachineCode | None:
    """Read an entry, if it exists, is whole, and has its name's key; else return None."""
    known = known_as(key, thorough)
    try:
        with _trusted_folder() as folder:
            opened = os.open(file_name(known), READ, dir_fd=folder)
            with os.fdopen(opened, "rb") as file:
                status = os.fstat(opened)
                check_own(status)
                data = file.read() if stat.S_ISREG(status.st_mode) else b""
    except OSError:
        return None
    head = len(MAGIC)
    body = memoryview(data)[head + DIGEST :]
    if data[:head] != MAGIC or hashlib.sha256(body).digest() != data[head : head + DIGEST]:
        return None
    if bytes(body[:DIGEST]) != known:
        return None
    at = 2 * DIGEST + 8
    size = int.from_bytes(body[2 * DIGEST : at], "little")
    code = MachineCode(bytes(body[at + size :]), json.loads(bytes(body[at : at + size])), thorough)
    return code if code.origin == bytes(body[DIGEST : 2 * DIGEST]) else None


def _write(known: bytes, origin: bytes, code: bytes, facts: dict[str, Any]) -> None:
    text = json.dumps(facts).encode()
    body = known + origin + len(text).to_bytes(8, "little") + text + code
    with contextlib.suppress(OSError):
        path = cache_folder()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        with _trusted_folder():
            write_whole(path / file_name(known), MAGIC + hashlib.sha256(body).digest() + body, mode=0o600)
