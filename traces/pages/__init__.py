"""What every page of HTML has in common: one frame, its colours, its sheet of styles and its script.

Start with `shell.py`. A page is a template that extends `shell.html.j2`, in a folder `templates` of the package that
writes it: `{% set title = ... %}`, `{% block main %}`; the head of the shell says what else there is. It is rendered by
`environment("its.package").get_template("its.html.j2").render(...)`. Its colours are the variables of `colours.py`.
"""
