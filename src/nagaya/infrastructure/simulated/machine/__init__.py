"""SimulatedMachines: hosts that come up after a while, join their cluster, suffer what is ordered, and go."""
