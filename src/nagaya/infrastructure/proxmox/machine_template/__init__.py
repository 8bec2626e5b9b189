"""ProxmoxMachineTemplates: what Nodes of such machines will offer."""
