"""A trace again, through the simulator."""
