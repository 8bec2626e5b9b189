"""Where pods find the API: what is behind the Service `kubernetes`, for API servers that do not tell it themselves.

Those that stand behind one address take it away when one of them ends, because each believes to be the only one there,
and it would be missing until another looks again. So there they are told not to, and the address stands here.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final

from nagaya.controlplane.hosted.tenant.kinds import ENDPOINT_SLICES, Manifest, manifest
from nagaya.controlplane.hosted.tenant.setup import TenantSetup

NAMESPACE: Final = "default"
SERVICE: Final = "kubernetes"


def objects(setup: TenantSetup) -> tuple[Manifest, ...]:
    """The one object."""
    return (
        manifest(
            ENDPOINT_SLICES,
            NAMESPACE,
            SERVICE,
            labels={"kubernetes.io/service-name": SERVICE},
            addressType=f"IPv{ip_address(setup.api_address).version}",
            endpoints=[{"addresses": [setup.api_address], "conditions": {"ready": True}}],
            ports=[{"name": "https", "port": setup.api_port, "protocol": "TCP"}],
        ),
    )
