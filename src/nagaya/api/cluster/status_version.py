"""Which Kubernetes versions a group of machines runs, and how many machines run each."""

from __future__ import annotations

from typing import Annotated

from nagaya.api.model import Model, doc


class StatusVersion(Model):
    """A Kubernetes version that some machines run."""

    version: Annotated[str, doc("The Kubernetes version, for example v1.36.3.", minLength=1, maxLength=256)]
    replicas: Annotated[int | None, doc("How many machines run it.", minimum=1)] = None


Versions = Annotated[
    tuple[StatusVersion, ...],
    doc(
        "The Kubernetes versions that the machines run now. More than one during an upgrade.",
        minItems=1,
        maxItems=100,
        list_type="map",
        list_map_keys=["version"],
    ),
]
