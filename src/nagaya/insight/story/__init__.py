"""What happened to a Cluster or to one of its machines, in order: what `timeline` tells.

Conditions say when they changed last, Events what was done, tasks of Proxmox VE carry the second they began in their
names. Together they are one story; nothing has to be recorded for it beforehand.
"""
