"""The simulator, and its schedules taken in the explorer's world."""
