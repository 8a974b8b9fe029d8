"""A trace of protocol zookeeper, played on real servers of ZooKeeper (docs/reenact.md)."""
