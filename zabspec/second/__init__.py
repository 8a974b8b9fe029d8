"""Run every protocol by a second semantics, written from docs/reference/semantics.md alone; start with `world.py`.

It imports the standard library only, and nothing but the cross-check of a verdict imports it: its worth is that it
shares no line with what it judges.
"""
