# One of zabcheck's five packages.
"""Define the language of protocols, the worlds they run in, the simulator, and the protocols with their variants.

Start with `zab.py` and the paper beside it, then `worlds/connections.py`, what a step is. `model.py` puts protocol,
variant, world and budgets together; `language/` compiles them.
"""

__version__ = "0.2.0"  # of all five packages
