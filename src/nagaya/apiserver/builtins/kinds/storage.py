"""The kinds of the group `storage.k8s.io`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.csi_driver import CSIDriverStrategy
from nagaya.apiserver.builtins.kinds.csi_node import CSINodeStrategy
from nagaya.apiserver.builtins.kinds.csi_storage_capacity import CSIStorageCapacityStrategy
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.storage_class import StorageClassStrategy
from nagaya.apiserver.builtins.kinds.volume_attachment import VolumeAttachmentStatusStrategy, VolumeAttachmentStrategy
from nagaya.apiserver.builtins.kinds.volume_attributes_class import VolumeAttributesClassStrategy
from nagaya.apiserver.meta.gvk import GroupResource

GROUP: Final = "storage.k8s.io"

_ATTACHMENT: Final = VolumeAttachmentStrategy()

KINDS: Final[Mapping[GroupResource, Kind]] = {
    GroupResource(GROUP, "csidrivers"): Kind(CSIDriverStrategy()),
    GroupResource(GROUP, "csinodes"): Kind(CSINodeStrategy()),
    GroupResource(GROUP, "csistoragecapacities"): Kind(CSIStorageCapacityStrategy()),
    GroupResource(GROUP, "storageclasses"): Kind(StorageClassStrategy()),
    GroupResource(GROUP, "volumeattachments"): Kind(
        _ATTACHMENT, {"status": VolumeAttachmentStatusStrategy(_ATTACHMENT)}
    ),
    GroupResource(GROUP, "volumeattributesclasses"): Kind(VolumeAttributesClassStrategy()),
}
