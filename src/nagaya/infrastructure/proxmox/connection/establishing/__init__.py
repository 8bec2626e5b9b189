"""How a connection comes to be: from an administrator's password to a token with the least rights, stored and verified.

`certificate` finds out who answers, `login` proves who asks. `site` and `accounts` read what is there, `chosen` settles
what the connection works with, `changes` is what is missing: all of it can be shown before anything is done. `token`
decides which token is used, `management` keeps what was made, and `establish` does it all in an order that can be
interrupted anywhere and run again.
"""
