"""The bootstrap-deadlock linter: would a cloud controller manager, a pod network and their friends ever get scheduled?

Nodes start with taints that only a cloud controller manager, and Ready nodes only a pod network, can take away; where
one of them waits for the other, or for itself, a new cluster stands still for ever and says nothing. All of it can be
read from manifests before they are applied. `Manifests` is that reading, each check is a pure function from it to
findings, and nothing here asks anybody anything, except `living`, which collects the manifests of a running tenant.
"""
