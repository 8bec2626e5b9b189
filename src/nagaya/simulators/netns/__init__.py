"""Machines that are namespaces of this host, and run their cloud-init for real.

A machine has its own processes, network, mounts, host name and control groups, and a root that looks like the host's
and keeps its changes to itself. It runs containerd, and whatever its user data say: `kubeadm join` makes a real node of
it, in seconds, without virtualisation. Everything about it ends with one process, so nothing is left when it goes.
"""
