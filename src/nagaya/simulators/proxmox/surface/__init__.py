"""What PVE's API consists of: its routes, what each takes and returns, whose right it asks for, and where it runs.

The facts stand in `routes.json`, made by tools/pve_surface.py from PVE's published schema and checked against it by a
test. Nothing here decides anything: `verification` holds parameters against these schemas, `access` the rights.
"""

from nagaya.simulators.proxmox.surface.loading import VERSIONS, routes
from nagaya.simulators.proxmox.surface.route import Check, Found, Permissions, Route
from nagaya.simulators.proxmox.surface.routes import Routes
from nagaya.simulators.proxmox.surface.schema import Schema

__all__ = ["VERSIONS", "Check", "Found", "Permissions", "Route", "Routes", "Schema", "routes"]
