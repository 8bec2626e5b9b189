"""ProxmoxClusters: what the machines of a cluster share: a way to Proxmox VE, pools of addresses, an endpoint."""
