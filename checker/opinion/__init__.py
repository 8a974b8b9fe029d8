"""Second opinions: hold what an engine says of a model against the interpreter, in random states and runs.

The interpreter runs a protocol and its properties as the Python that they are; it shares no line with machine code,
with the translation into terms and with z3. `interpreted.py` is its side; each other file is the side of an engine.
"""
