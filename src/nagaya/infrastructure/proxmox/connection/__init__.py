"""ProxmoxConnections: where Proxmox VE is, who asks there, and whether that works.

`connections` is the registry that all other controllers of the provider get their clients from. `look` asks a data
center what has to be known of it. The controller tells what was found in the status of the ProxmoxConnection.
"""
