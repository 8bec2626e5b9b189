"""`nagaya manifests`: what runs Nagaya's controllers on a Kubernetes cluster, with no more rights than they use."""
