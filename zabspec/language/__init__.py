"""The language: a state declared once, a checked subset of Python, and the worlds it runs in."""

from zabspec.language.frontend import FrontEnd, LanguageError
from zabspec.language.kinds import Bool, Int, Kind, Message, MessageUnion, NodeId, Record, Seq, SetOf
from zabspec.language.reference import RangeError, StateView
from zabspec.language.schema import NODE, Field, Layout, Role, Schema

__all__ = [
    "NODE",
    "Bool",
    "Field",
    "FrontEnd",
    "Int",
    "Kind",
    "LanguageError",
    "Layout",
    "Message",
    "MessageUnion",
    "NodeId",
    "RangeError",
    "Record",
    "Role",
    "Schema",
    "Seq",
    "SetOf",
    "StateView",
]
