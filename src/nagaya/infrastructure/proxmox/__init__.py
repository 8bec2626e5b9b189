"""Machines on Proxmox VE. `client` talks to it; everything else decides what to say."""
