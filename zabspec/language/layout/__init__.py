"""Kinds, schemas and layouts of states, and the source of a text. Start with `schema.py`."""
