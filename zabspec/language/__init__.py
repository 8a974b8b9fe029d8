"""Define the language: a state declared once, a checked subset of Python, and its back ends.

Start with `layout/schema.py` (the state) and `front/frontend.py` (from Python to the typed tree, `analysis/tree.py`).
Back ends: `python/reference.py` (CPython), `native/llvm_text.py` (machine code, compiled by `native/jit.py`), and the
wing's `zabspec/proofs/symbolic.py` (terms for z3).
"""

from zabspec.language.front.frontend import FrontEnd, LanguageError
from zabspec.language.layout.kinds import Bool, Int, Kind, Message, MessageUnion, NodeId, Record, Seq, SetOf
from zabspec.language.layout.schema import NODE, Field, Layout, Role, Schema
from zabspec.language.python.reference import RangeError, StateView

__all__ = [
    "NODE", "Bool", "Field", "FrontEnd", "Int", "Kind", "LanguageError", "Layout", "Message", "MessageUnion", "NodeId",
    "RangeError", "Record", "Role", "Schema", "Seq", "SetOf", "StateView",
]  # fmt: skip
