"""The Cluster controller: brings control plane, infrastructure and machines of a cluster together.

It makes little itself. It takes ownership of what a Cluster refers to, carries the endpoint and the failure domains
over, tells how the whole fares, and takes everything down in the right order.
"""
