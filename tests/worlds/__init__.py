"""The worlds: connections, datagrams, disks, and their steps."""
