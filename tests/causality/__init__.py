"""What happens before what: the graph of a run, against the naive judge and against what traces and runs hold."""
