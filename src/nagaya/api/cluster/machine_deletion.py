"""How long the deletion of a machine may take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.model import Model, doc

DEFAULT_NODE_DELETION_TIMEOUT_SECONDS: Final = 10


class MachineDeletion(Model):
    """Time limits for the steps of a deletion."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    node_drain_timeout_seconds: Annotated[
        int | None,
        doc(
            "How many seconds the drain of the Node may take, all attempts together. Then the machine goes although "
            "pods still run on it. With 0, or if left out, a drain takes as long as it takes.",
            minimum=0,
        ),
    ] = None
    node_volume_detach_timeout_seconds: Annotated[
        int | None,
        doc(
            "How many seconds to wait until all volumes are detached from the Node. Then the machine goes although "
            "some still are. With 0, or if left out, there is no limit.",
            minimum=0,
        ),
    ] = None
    node_deletion_timeout_seconds: Annotated[
        int | None,
        doc(
            "How many seconds the deletion of the Node object is tried once the machine is gone. With 0 there is no "
            "limit; if left out it is 10.",
            minimum=0,
        ),
    ] = None
