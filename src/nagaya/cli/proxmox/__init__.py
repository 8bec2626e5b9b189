"""What is done with a Proxmox VE before clusters are: it is connected, checked, and given images."""
