"""Other releases and changed rules, as variants of the protocol `zookeeper`; start with `releases.py`."""
