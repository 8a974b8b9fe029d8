"""Check free-running ZooKeeper ensembles against the `zookeeper` protocol.

`docs/how-to/conform-and-chaos.md` is the user's page. `chaos.py` records an ensemble behind the proxies of `taps.py`.
`search.py` searches for a run that explains a record, over the states of `unbounded.py`. Start at `explained.py`, which
reports the verdict on a record.
"""
