"""SimulatedClusters: an address for the API of a cluster, and an authority if nobody else makes one."""
