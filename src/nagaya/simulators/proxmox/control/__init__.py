"""The emulator's own controls, for tests and demos: no part of PVE's API."""
