"""Define the language: a state declared once, a checked subset of Python, and its back ends.

Start with `schema.py` (the state) and `frontend.py` (from Python to the typed tree, `tree.py`). The back ends are
`reference.py` (CPython), `llvm_text.py` (machine code, compiled by `jit.py`) and `symbolic.py` (terms for z3).
"""

from zabspec.language.frontend import FrontEnd, LanguageError
from zabspec.language.kinds import Bool, Int, Kind, Message, MessageUnion, NodeId, Record, Seq, SetOf
from zabspec.language.reference import RangeError, StateView
from zabspec.language.schema import NODE, Field, Layout, Role, Schema

__all__ = [
    "NODE", "Bool", "Field", "FrontEnd", "Int", "Kind", "LanguageError", "Layout", "Message", "MessageUnion", "NodeId",
    "RangeError", "Record", "Role", "Schema", "Seq", "SetOf", "StateView",
]  # fmt: skip
