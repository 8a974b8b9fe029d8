"""What ZooKeeper servers leave on their disks and in their text logs, read and held against ZAB."""
