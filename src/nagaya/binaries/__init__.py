"""The real Kubernetes programs, etcd, kine, Konnectivity and upstream's Cluster API: found, downloaded or built.

Hosted tenants run the real kube-apiserver, and tests and benchmarks judge the embedded one by it and Nagaya's
controllers by upstream's, so all need the same programs in known versions on machines that differ in what they can
reach. `Installer.ensure` (installer.py) is the door; behind it stand, in the order they are asked:

    provided.py   a folder that the user named in NAGAYA_KUBERNETES_BIN
    cache.py      what an earlier call left, with the checksum that was recorded then
    official.py   the projects' own release sites, checked against the checksums they publish
    gobuild.py    Go and its module proxy, with every dependency pinned by pinned.py

What always holds: a program is in the cache whole or not at all, it has said its own version before it got there, and
only one process on a machine downloads or builds at a time.
"""
