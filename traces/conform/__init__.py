"""Free-running ZooKeeper ensembles held against the `zookeeper` protocol (docs/conform.md): `chaos.py` records one
behind the proxies of `taps.py`, `search.py` looks for a run that explains a record, over the states of `unbounded.py`.

Start at `explained.py`, which says what became of a record.
"""
