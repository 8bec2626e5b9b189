"""Simulated infrastructure: machines that boot after a while and whose Nodes appear in simulated clusters.

It keeps to the contract like any other provider; the clusters themselves are `nagaya.simulators.tenant`. The objects in
the management API are all that lasts: a process that starts anew builds its clusters from them.
"""
