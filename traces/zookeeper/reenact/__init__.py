"""Re-enact a trace of protocol `zookeeper` on real ZooKeeper servers (`zabcheck reenact`).

Start with `mapping.py`: what forces a step on a server, and what shows that it was taken. `player.py` takes one step
after the other; `wire/links.py` and `wire/gates.py` hold messages and threads back.
"""
