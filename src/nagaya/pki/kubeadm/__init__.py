"""The certificates that kubeadm gives a control plane, as data.

Programs of a control plane find each other by these certificates, under these file names, with these subjects, and
RBAC rules of every cluster name those subjects. So all of it is kubeadm's to the letter; a test makes both and compares
them field by field. Nothing here reads or writes: a table (`authorities`, `leaves`, `identities`), what its entries
depend on (`inputs`), and what turns an entry into a certificate (`issuing`).
"""
