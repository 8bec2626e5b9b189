"""From the first Cluster API (group cluster.k8s.io) to v1beta2.

In it, settings of the infrastructure were written into Clusters and Machines, or shared as a MachineClass, and how a
machine boots was the provider's own affair. In v1beta2 both are objects of their own: one old object becomes several.
"""

from __future__ import annotations

from typing import Final

from nagaya.api.conversion.v1alpha1.legacy import Legacy

GROUP: Final = "cluster.k8s.io"
KINDS: Final = ("Cluster", "Machine", "MachineSet", "MachineDeployment", "MachineClass")

__all__ = ["GROUP", "KINDS", "Legacy"]
