"""Control planes on machines, made with kubeadm: the group controlplane.cluster.x-k8s.io."""
