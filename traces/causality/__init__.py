"""What happens before what in a run, as a graph of `networkx`.

Start with `graph.py`: the graph, and what is read off it. `sources.py` makes it of a trace, a simulated run, an event
table, or text logs of real servers.
"""
