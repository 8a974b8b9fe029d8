"""The protocols: zab as in the paper, its variants, ladis, db19, and ZooKeeper."""
