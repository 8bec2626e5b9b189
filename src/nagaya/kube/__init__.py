"""How Nagaya talks to any Kubernetes API, and how its controllers run.

From the wire up: `transport` (with `http` over the network) carries calls, `calls` gives them manners, `client` makes
verbs of them; `cache` keeps objects and tells of changes, `queue` and `controller` turn changes into work, `manager`
runs them; `election` lets one replica write. Nothing here knows what a cluster is.
"""
