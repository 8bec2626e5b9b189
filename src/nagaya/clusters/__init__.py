"""What all controllers of a cluster's objects share, whichever room they live in.

Core, bootstrap, control planes, infrastructure and add-ons do not know each other, but follow the same rules: who owns
what, what a pause means, how a reference leads to a provider's object, what a tenant's Nodes say, how an object is let
go and how failures and machines are named. Each rule is here once. Nothing here decides what happens to a cluster.
"""
