"""The explored states and steps as a graph of `networkx`, and questions that need it.

Start with `build.py`, then `questions.py`. `report.py` reports the answers. Every answer is about the graph as it
is: whole, or cut at a depth; with each state, or with one for all its renamings.
"""
