"""`nagaya demo`: a tenant to play with, on an emulated Proxmox VE, with a real control plane where that can be had."""
