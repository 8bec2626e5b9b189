"""How a Cluster stands, as a tree of its objects: what `describe` shows.

The tree is the one of `clusterctl describe cluster`, with what people miss there: deployments without machines, objects
that are named and do not exist, and machines that are not ready are one line only if the same is wrong with them.
"""
