"""The interpreter's opinion of machine code."""
