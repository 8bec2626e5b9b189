"""Drafts of clusters: a few values become the objects that make a cluster.

Drawing (`blueprint`) is a pure function; looking at what there is already (`surroundings`) is the only part that asks
anybody anything. What always holds: the same wish gives the same objects, with the same names, so that applying them
again changes nothing.
"""
