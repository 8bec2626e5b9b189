"""Names that the controller of HostedControlPlanes is known by."""

from __future__ import annotations

from typing import Final

from nagaya.controlplane.hosted.kubernetes.names import DOMAIN

MANAGER: Final = "nagaya-hostedcontrolplane"

ABANDON_DATA: Final = "controlplane.cluster.x-k8s.io/abandon-data"
"""The annotation by which a user lets a control plane go although its data store cannot be reached: whatever it has
there stays. Its value does not matter."""

HOME: Final = f"{DOMAIN}/home"
"""The annotation in which a move notes on which machine and in which folder programs and data were, if it knows."""
