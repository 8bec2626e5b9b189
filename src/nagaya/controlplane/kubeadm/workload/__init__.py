"""What a control plane sees and does inside its tenant: Nodes, static pods, etcd, kubeadm's configuration, add-ons."""
