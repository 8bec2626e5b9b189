"""An emulator of Proxmox VE: a data center whose hosts answer as PVE 9.2 does, quirks and refusals included.

It ships with Nagaya, so that everything can be tried without hardware, and is what the provider's tests and benchmarks
stand on. `state` holds what PVE would keep in /etc/pve, on its storages and in its processes; `calls` has the code
behind each route; `surface` and `verification` know what a route accepts; `access` who may do what; `tasks` runs
workers; `front` leads from a request to its call. How requests arrive (`web`) is apart from what they mean
(`emulator`), so the whole runs in-process on virtual time as well.
"""
