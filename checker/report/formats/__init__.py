"""What a result is written as: a file for each format, which knows `checker/report/result.py` and no kind of request.

`terminal.py` and `json_text.py` write stdout, `github.py` annotations. A file with a `FORMAT` is found by lying here:
it is a flag of every command whose results it takes.
"""
