"""Tables of events, sweeps, and Spark sessions."""
