"""Addresses for machines, and claims for them: the group ipam.cluster.x-k8s.io."""
