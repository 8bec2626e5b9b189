"""Labels that connect the objects of a cluster. They are part of the API: users and tools select by them."""

from __future__ import annotations

from typing import Final

CLUSTER_NAME: Final = "cluster.x-k8s.io/cluster-name"
"""On everything that belongs to a cluster: the name of the Cluster."""

PROVIDER: Final = "cluster.x-k8s.io/provider"
"""On CRDs and the parts of a provider: which provider."""

WATCH_FILTER: Final = "cluster.x-k8s.io/watch-filter"
"""Controllers that were started with a filter look at objects with the same value only."""

INTERRUPTIBLE: Final = "cluster.x-k8s.io/interruptible"
"""On Nodes whose machine the infrastructure may take away at any time."""

CONTROL_PLANE: Final = "cluster.x-k8s.io/control-plane"
"""On Machines and their objects: part of the control plane. The value is empty."""

CONTROL_PLANE_NAME: Final = "cluster.x-k8s.io/control-plane-name"
"""On Machines: the control plane object that made them. A hash, if the name is no valid label value."""

MACHINE_SET_NAME: Final = "cluster.x-k8s.io/set-name"
"""On Machines: the MachineSet that made them. A hash, if the name is no valid label value."""

MACHINE_DEPLOYMENT_NAME: Final = "cluster.x-k8s.io/deployment-name"
"""On MachineSets and Machines: the MachineDeployment that they belong to."""

MACHINE_POOL_NAME: Final = "cluster.x-k8s.io/pool-name"
"""On Machines: the MachinePool that they belong to."""

MACHINE_TEMPLATE_HASH: Final = "machine-template-hash"
"""On MachineSets and Machines of a MachineDeployment: tells the generations of its template apart."""

DRAIN: Final = "cluster.x-k8s.io/drain"
"""On Pods: `skip` leaves the pod alone when its node is drained, `wait-completed` waits until it has finished."""

TOPOLOGY_OWNED: Final = "topology.cluster.x-k8s.io/owned"
"""On objects that are made and kept from a ClusterClass."""

TOPOLOGY_MACHINE_DEPLOYMENT_NAME: Final = "topology.cluster.x-k8s.io/deployment-name"
"""On objects of a MachineDeployment from a ClusterClass: its name in the topology."""

TOPOLOGY_MACHINE_POOL_NAME: Final = "topology.cluster.x-k8s.io/pool-name"
"""On objects of a MachinePool from a ClusterClass: its name in the topology."""

NODE_ROLE_PREFIX: Final = "node-role.kubernetes.io"
"""Labels of a Machine with this prefix are carried over to its Node."""

NODE_RESTRICTION_DOMAIN: Final = "node-restriction.kubernetes.io"
"""Labels of a Machine in this domain or below it are carried over to its Node, which cannot set them itself."""

MANAGED_NODE_DOMAIN: Final = "node.cluster.x-k8s.io"
"""Labels of a Machine in this domain or below it are carried over to its Node."""

SIMULATED: Final = "simulated.nagaya.dev/cluster"
"""On Clusters in which nothing runs, whatever their infrastructure is called. The value is `true`."""
