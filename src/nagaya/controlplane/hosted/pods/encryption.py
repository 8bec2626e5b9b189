"""How a tenant's data is encrypted: the user's Secret, which is in no cache."""

from __future__ import annotations

import base64
import binascii
import hashlib

from nagaya.api.controlplane.hosted_control_plane import HostedControlPlane
from nagaya.clusters.certificates.held import CLUSTER_SECRETS
from nagaya.controlplane.hosted.components.configuration import ENCRYPTION
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound


async def encryption_hash(client: Client, plane: HostedControlPlane) -> tuple[str, str]:
    """A hash of the EncryptionConfiguration, and what is wrong with it. Both are empty if there shall be none."""
    wanted = plane.spec.api_server.encryption
    if wanted is None:
        return "", ""
    name = wanted.config_secret_ref.name
    where = f"Secret {plane.metadata.namespace}/{name}, which spec.apiServer.encryption names,"
    try:
        secret = await client.get(CLUSTER_SECRETS, plane.metadata.namespace, name)
    except NotFound:
        return "", f"{where} does not exist. Create it."
    try:
        content = base64.b64decode(secret.data.get(ENCRYPTION, ""), validate=True)
    except binascii.Error:
        content = b""
    if not content:
        return "", f"{where} has no {ENCRYPTION}. Put it there."
    return hashlib.sha256(content).hexdigest(), ""
