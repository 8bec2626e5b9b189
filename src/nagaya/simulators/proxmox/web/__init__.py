"""How requests arrive at the emulated hosts: an HTTPS server for each, to the byte what PVE's own sends."""
