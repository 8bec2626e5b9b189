"""Long-lived child processes of one machine, for an owner that may be killed at any moment.

`Supervisor` (supervisor.py) is the door: it is told what shall run (`ProcessSpec`, spec.py) and keeps it running; what
happens is told in events (events.py). Behind it:

    unit.py       one process over its lives: started, adopted, restarted with growing pauses (backoff.py), stopped
    launch.py     the few lines that run in the child before it becomes the program: limits, record, then exec
    confine.py    what makes it a process of an unprivileged user, where that is asked for
    folders.py    what such a process can write, and what it can read
    instance.py   one life: its exit, its end by SIGTERM and SIGKILL
    place.py      the folder of a process: its lock, its record (record.py), its log (logs.py)
    processes.py  what the kernel says of processes; cgroups.py, limits where this machine permits them

What always holds: of one process there are never two. Each life holds a lock of the kernel that it inherits before it
runs its first instruction and that is free only when it and everything it started are gone; nobody starts the next
life without it. So it does not matter when the owner dies: the one that comes after it finds the lock taken, and the
record (process id, start time, boot) tells whether what holds it is what is wanted and may be adopted.

Linux only: pidfds, `/proc`, cgroups. The room knows nothing of Kubernetes.
"""
