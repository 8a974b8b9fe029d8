"""What a result is written as: a file for each format, which knows `checker/report/result.py` and no kind of request.

`terminal.py` and `json_text.py` write stdout, `github.py` annotations, `notebook.py` what notebooks show. A file with
a `FORMAT` is found by lying here: it is a flag of every command whose results it takes.
All are imported as a command begins, so what one writes with is imported when it writes.
"""
