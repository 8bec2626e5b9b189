"""The calls on virtual machines."""
