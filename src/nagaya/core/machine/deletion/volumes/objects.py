"""What a tenant says about volumes and where they are attached. Read when it is needed, and not kept."""

from __future__ import annotations

from typing import Final

from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model


class AttachmentSource(Model):
    """What is attached."""

    persistent_volume_name: str | None = None


class AttachmentSpec(Model):
    """What is attached where."""

    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class AttachmentStatus(Model):
    """Whether it is."""

    attached: bool = False


class VolumeAttachment(Resource):
    """A volume that is, or is to be, attached to a Node."""

    spec: AttachmentSpec = AttachmentSpec()
    status: AttachmentStatus = AttachmentStatus()


class ContainerStorage(Model):
    """How a storage driver calls a volume."""

    driver: str = ""
    volume_handle: str = ""


class ClaimReference(Model):
    """Who uses a volume."""

    kind: str = ""
    namespace: str = ""
    name: str = ""


class VolumeSpec(Model):
    """What a volume is."""

    csi: ContainerStorage | None = None
    claim_ref: ClaimReference | None = None


class PersistentVolume(Resource):
    """A volume."""

    spec: VolumeSpec = VolumeSpec()

    @property
    def attached_name(self) -> str:
        """How it is called in `status.volumesAttached` of a Node; empty if that cannot be told."""
        csi = self.spec.csi
        return "" if csi is None else f"kubernetes.io/csi/{csi.driver}^{csi.volume_handle}"


VOLUME_ATTACHMENTS: Final = Kind(
    "storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", VolumeAttachment, namespaced=False
)
PERSISTENT_VOLUMES: Final = Kind("", "v1", "PersistentVolume", "persistentvolumes", PersistentVolume, namespaced=False)
