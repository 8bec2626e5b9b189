"""cluster.x-k8s.io: clusters, their machines, and what keeps machines in the right number, version and health."""
