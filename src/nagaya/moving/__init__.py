"""Moves clusters from one management API to another: `nagaya move`.

    annotations.py   what a move writes down in objects
    item.py          an object that may move, and the kinds of an API
    inventory.py     everything that is there, read once
    references.py    Secrets and ConfigMaps that objects name
    hosted.py        hosted control planes and their data stores: which tenant they go on with: pure
    belongings.py    what belongs to a move, and who owns it: pure
    order.py         owners before what they own: pure
    carried.py       an object as the other API gets it: pure
    records.py       what of a status it gets, too: pure
    checks.py        why a move cannot begin: pure
    move.py          the steps, each of which may be the last

What always holds: nothing is deleted at the source before the target has all of it; no two planes look after a cluster
at the same time, because it is paused at both ends until the source has nothing of it any more; a move that ended early
is finished by the same command. Status is not carried, but for the few records in it: controllers at the target find it
out from the world, as they do after any start. The rules of what belongs together are those of `clusterctl move`.
"""
