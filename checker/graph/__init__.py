"""The explored states and steps as a graph of `networkx`, and questions that need it.

Start with `build.py`, then `questions.py`. `report.py` says what came of them. Every answer is about the graph as it
is: whole, or cut at a depth; each state, or one for all its renamings.
"""
