"""Images of machines: from a file on the web to templates on every host that needs one, through PVE's API alone.

A run looks (`observe`), decides (`plan`, pure), shows what it decided, and does it (`apply`). What it makes is known by
a marker in the description (`marker`), so that any later run finds it, goes on with what is unfinished, and removes
(`removal`) nothing that somebody else made or uses (`users`).
"""
