"""Tenants as processes of this machine: embedded mode.

`Host` (host.py) is the door. Behind it:

    settings.py       where everything is, which addresses and ports tenants get
    ownership.py      whose a folder is: a record in it, compared before anything of it is touched
    tenant_folder.py  the folder of one tenant: what is in it, written atomically, closed to others
    users.py          the users that programs run as where Nagaya is root
    ports.py          ports within this machine: chosen once, kept in the tenant's folder, never given twice
    addresses.py      which addresses this machine has, and what listens there
    certificates.py   the certificates of a tenant's programs as files: made, and renewed in their place
    programs.py       the binaries of a Kubernetes version, fetched or built in the background
    processes.py      what shall run for a tenant, as supervised processes
    roll.py           in which order that is reached, without an interruption where there are several API servers
    leaving.py        API servers are ended when the balancer has confirmed that no request reaches them
    balancer/         what stands in front of several API servers; a program of its own, without imports of ours

What always holds: a tenant is named by the uid of the control plane that it began with, and nothing that a user chose
becomes part of a path; nothing is touched that belongs to another; what a program reads is written before it is
started; nothing is started twice.
"""
