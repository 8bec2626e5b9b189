"""A simulated workload cluster: an embedded API server whose nodes and pods are data that behaves."""
