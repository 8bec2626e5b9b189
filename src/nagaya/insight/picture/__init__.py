"""All objects of one Cluster as one value: read once by a few lists, or kept current by watches.

From the bottom: `kinds` says which kinds there are to look for, `member` is one object as a reader sees it,
`references` which objects one names, `belonging` which objects are a Cluster's, `picture` the value; `read` and `live`
fill it, `search` finds the Cluster that was meant.
"""
