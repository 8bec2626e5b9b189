"""Where the data of tenants is, and how it is kept apart.

`Driver` (driver.py) is what every kind of store can do for a tenant: give it a place of its own, take that away with
all that is in it, tell how much is there, copy it out and in. The drivers:

    etcd.py        one etcd for many: a prefix, a user and a role for each, known by certificate
    postgresql.py  one PostgreSQL for many, through kine: a database and a role for each
    sqlite.py      a file for each, through kine, on the machine that Nagaya runs on

and managed_etcd.py plans the etcd that Nagaya starts itself. Copies (snapshots.py) have one form for all of them: a
tenant can be copied out of one store and into another, under another name.

What always holds: a tenant is named by its uid and nothing else ever becomes part of a key, a user, a database or a
path; no statement or range that is made for one tenant touches another's.
"""
