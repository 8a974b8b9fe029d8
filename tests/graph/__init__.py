"""The graph of a model's states against the CPython world, and the questions to it against their plain meaning."""
