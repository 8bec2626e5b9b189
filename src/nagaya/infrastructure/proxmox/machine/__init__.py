"""ProxmoxMachines: from a wish to a VM that is a Node, and back to nothing."""
