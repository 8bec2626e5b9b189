"""Annotations by which users steer controllers, and controllers remember things. They are part of the API."""

from __future__ import annotations

from typing import Final

PAUSED: Final = "cluster.x-k8s.io/paused"
"""On any object: controllers leave it alone while it is there, whatever its value."""

MANAGED_BY: Final = "cluster.x-k8s.io/managed-by"
"""On infrastructure clusters: somebody outside provides them, so the provider leaves them alone."""

# On Machines

DELETE_MACHINE: Final = "cluster.x-k8s.io/delete-machine"
"""Its MachineSet or control plane deletes this machine first when it scales down."""

REMEDIATE_MACHINE: Final = "cluster.x-k8s.io/remediate-machine"
"""The MachineHealthCheck takes the machine for unhealthy."""

SKIP_REMEDIATION: Final = "cluster.x-k8s.io/skip-remediation"
"""No MachineHealthCheck looks at the machine."""

EXCLUDE_NODE_DRAINING: Final = "machine.cluster.x-k8s.io/exclude-node-draining"
"""The node is not drained when the machine is deleted."""

EXCLUDE_WAIT_FOR_NODE_VOLUME_DETACH: Final = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach"
"""The machine is deleted although volumes are still attached to its node."""

PRE_DRAIN_DELETE_HOOK_PREFIX: Final = "pre-drain.delete.hook.machine.cluster.x-k8s.io"
"""Deletion waits before the drain until no annotation begins with this. The rest of its name is the hook's."""

PRE_TERMINATE_DELETE_HOOK_PREFIX: Final = "pre-terminate.delete.hook.machine.cluster.x-k8s.io"
"""Deletion waits before the infrastructure goes until no annotation begins with this."""

CERTIFICATES_EXPIRY: Final = "machine.cluster.x-k8s.io/certificates-expiry"
"""When the certificates on a control plane machine run out, if the bootstrap provider cannot say so itself."""

# On MachineSets and MachineDeployments

DISABLE_MACHINE_CREATE: Final = "cluster.x-k8s.io/disable-machine-create"
"""The MachineSet makes no machines while a rollout with OnDelete replaces it."""

SKIP_PREFLIGHT_CHECKS: Final = "machineset.cluster.x-k8s.io/skip-preflight-checks"
"""Names of the checks, separated by commas, that are not made before a machine is; All stands for every one."""

REVISION: Final = "machinedeployment.clusters.x-k8s.io/revision"
"""Which revision of the template of its MachineDeployment a MachineSet is. The highest is the newest."""

DESIRED_REPLICAS: Final = "machinedeployment.clusters.x-k8s.io/desired-replicas"
"""How many replicas the MachineDeployment wanted when it last scaled the MachineSet."""

MAX_REPLICAS: Final = "machinedeployment.clusters.x-k8s.io/max-replicas"
"""How many replicas, surge included, the MachineDeployment allowed when it last scaled the MachineSet."""

REPLICAS_MANAGED_BY: Final = "cluster.x-k8s.io/replicas-managed-by"
"""On MachinePools: somebody outside decides how many replicas there are."""

AUTOSCALER_MIN_SIZE: Final = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
"""The fewest machines that the cluster autoscaler may leave."""

AUTOSCALER_MAX_SIZE: Final = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
"""The most machines that the cluster autoscaler may ask for."""

# On Nodes

CLUSTER_NAME: Final = "cluster.x-k8s.io/cluster-name"
"""The Cluster that the node belongs to."""

CLUSTER_NAMESPACE: Final = "cluster.x-k8s.io/cluster-namespace"
"""The namespace of that Cluster."""

MACHINE: Final = "cluster.x-k8s.io/machine"
"""The Machine of the node."""

OWNER_KIND: Final = "cluster.x-k8s.io/owner-kind"
"""The kind of the object that manages the Machine."""

OWNER_NAME: Final = "cluster.x-k8s.io/owner-name"
"""The name of the object that manages the Machine."""

LABELS_FROM_MACHINE: Final = "cluster.x-k8s.io/labels-from-machine"
"""Which labels came from the Machine, separated by commas: so that they go when they go there."""

ANNOTATIONS_FROM_MACHINE: Final = "cluster.x-k8s.io/annotations-from-machine"
"""Which annotations came from the Machine, separated by commas."""

TAINTS_FROM_MACHINE: Final = "cluster.x-k8s.io/taints-from-machine"
"""Which taints came from the Machine, as `key:effect` separated by commas."""

MANAGED_NODE_DOMAIN: Final = "node.cluster.x-k8s.io"
"""Annotations of a Machine in this domain or below it are carried over to its Node."""

# On objects that were made from a template

CLONED_FROM_NAME: Final = "cluster.x-k8s.io/cloned-from-name"
"""The name of the template."""

CLONED_FROM_GROUP_KIND: Final = "cluster.x-k8s.io/cloned-from-groupkind"
"""The kind and the group of the template, as `Kind.group`."""

# On Clusters with a topology

HOLD_UPGRADE_SEQUENCE: Final = "topology.cluster.x-k8s.io/hold-upgrade-sequence"
"""On a MachineDeployment of the topology: neither it nor those after it are upgraded."""

DEFER_UPGRADE: Final = "topology.cluster.x-k8s.io/defer-upgrade"
"""On a MachineDeployment or MachinePool of the topology: it is not upgraded, but those after it are."""

UPGRADE_CONCURRENCY: Final = "topology.cluster.x-k8s.io/upgrade-concurrency"
"""How many MachineDeployments are upgraded at a time; 1 if left out."""

UPGRADE_STEP: Final = "topology.internal.cluster.x-k8s.io/upgrade-step"
"""The version of the step of a chained upgrade that is being made."""

DRY_RUN: Final = "topology.cluster.x-k8s.io/dry-run"
"""On requests of the topology controller that change nothing: lets webhooks tolerate changes of templates."""

UNSAFE_UPDATE_CLASS_NAME: Final = "unsafe.topology.cluster.x-k8s.io/disable-update-class-name-check"
"""Lets a class be set on a Cluster that had none. Whoever sets it knows that everything may be made anew."""

UNSAFE_UPDATE_VERSION: Final = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check"
"""Lets the version of a topology change in ways that Kubernetes does not support."""

BEFORE_UPGRADE_HOOK_PREFIX: Final = "before-upgrade.hook.cluster.cluster.x-k8s.io"
"""An upgrade waits until no annotation of the Cluster begins with this. The rest of its name is the hook's."""

# On machines that are updated in place

PENDING_ACKNOWLEDGE_MOVE: Final = "in-place-updates.internal.cluster.x-k8s.io/pending-acknowledge-move"
"""On Machines: moved to another MachineSet, which the MachineDeployment has not taken note of."""

UPDATE_IN_PROGRESS: Final = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress"
"""On Machines and their objects: an in-place update is going on."""

MOVE_MACHINES_TO_MACHINE_SET: Final = "in-place-updates.internal.cluster.x-k8s.io/move-machines-to-machineset"
"""On MachineSets: where machines go instead of being deleted."""

RECEIVE_MACHINES_FROM_MACHINE_SETS: Final = (
    "in-place-updates.internal.cluster.x-k8s.io/receive-machines-from-machinesets"
)
"""On MachineSets: where machines come from instead of being made."""

ACKNOWLEDGED_MOVE: Final = "in-place-updates.internal.cluster.x-k8s.io/acknowledged-move"
"""On MachineSets: which moved machines the MachineDeployment has taken note of."""

CRD_MIGRATION_OBSERVED_GENERATION: Final = "crd-migration.cluster.x-k8s.io/observed-generation"
"""On CRDs: the generation whose stored objects were all rewritten."""
