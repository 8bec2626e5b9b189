"""One tenant in one file, and back: under its own name after a loss, in place of what it has now, or as another one.

    form.py      what is in an archive, and in which order
    writer.py    writes one: streamed, private, and under its name only when it is whole
    reader.py    reads one: nothing of it is believed before its last byte is
    objects.py   what is kept of objects, and how they look under another name
    found.py     a tenant as the management API has it
    reach.py     the data store of a tenant, from where this process runs
    backup.py    a tenant into an archive
    plan.py      what a restore would do, or why it does not: pure
    restore.py   does it
    waiting.py   waits for what others have to do

What always holds: the data is of one revision; a control plane never runs on data that is restored in part, because it
is stopped and paused before the first key is touched and let go after the last; whatever ends a restore early, the same
command continues it.
"""
