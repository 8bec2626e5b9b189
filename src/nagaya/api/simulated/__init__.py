"""Simulated infrastructure: clusters and machines that behave and do not exist, in infrastructure.cluster.x-k8s.io."""
