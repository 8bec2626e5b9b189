"""What the credentials of a connection may do in Proxmox VE, must be able to do, and how they come to be. All pure.

`operations` is the table of what the provider does and which privileges PVE asks for it, by `place`. `held` reads what
/access/permissions says. `preflight` compares the two: what is missing, with the command that grants it, and how boot
data can be delivered. `setup` is the least that a new user and token need, as data and as `pveum` commands.
"""
