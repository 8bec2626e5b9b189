"""Control planes, on machines (kubeadm) or beside Nagaya (hosted): the group controlplane.cluster.x-k8s.io."""
