"""The Machine controller: from two objects of providers and a Node of a tenant to one machine with a status.

`seen` is what is looked at, `plan` decides, `apply` writes, `status` tells. `bootstrap`, `infrastructure` and `node`
are the three things that a machine consists of; `deletion` is how it goes.
"""
