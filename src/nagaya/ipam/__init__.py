"""Addresses: pools give them to claims, each to one at a time.

`in_cluster` and `global_in_cluster` are the two controllers, one for each kind of pool; both are `pool`, which says how
a pool is looked after. Whoever needs an address makes an IPAddressClaim and reads the IPAddress of the same name:
nothing here is to be imported by others.
"""
