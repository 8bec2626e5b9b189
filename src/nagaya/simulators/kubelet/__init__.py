"""Kubelets that are data, at an API server that is real: no machine and no container, but a Node and pods that behave.

They join as kubeadm does, with a bootstrap token for a certificate of their own, and may do no more than any kubelet.
What a user could take for real says that it is simulated.
"""
