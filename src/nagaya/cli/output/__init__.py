"""How commands print: one way for all of them.

On a terminal with colours and at its width; into a pipe as plain text that nothing cuts; for programs as JSON or YAML.
`NO_COLOR` and `TERM=dumb` are heeded. Results go to standard output, everything else to standard error. Exit codes: 0
fine, 1 problems were found or it failed, 2 a command line that is not understood, 130 interrupted.
"""
