"""The formats of results: a file for each, which knows `checker/report/result.py` and no kind of request.

`terminal.py` writes stdout, `github.py` annotations, `notebook.py` what notebooks show. A file with a
`FORMAT` is discovered here: it becomes a flag of every command whose results it accepts. All are imported when a
command begins, so the libraries that they use are imported only when they write.
"""
