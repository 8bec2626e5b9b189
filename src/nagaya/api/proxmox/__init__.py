"""Machines on Proxmox VE, in infrastructure.cluster.x-k8s.io: CAPMOX's kinds with all their fields, and two of ours."""
