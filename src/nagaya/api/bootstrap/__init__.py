"""How a machine becomes a node with kubeadm: the group bootstrap.cluster.x-k8s.io."""
