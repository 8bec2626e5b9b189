"""MachineDeployments: equal machines that are replaced bit by bit when their template changes.

A deployment makes no machines. It makes MachineSets, one per state of its template, and decides how many machines each
of them has: the current one grows, the others shrink, and those that are empty go. `seen` is what decisions depend on,
`plan` the decisions, `apply` the calls, `status` what users are told.
"""
