"""What v1alpha1 had in its status and v1alpha2 keeps for it. Nothing reads it."""

from __future__ import annotations

from typing import Annotated

import msgspec

from nagaya.api.model import Model, doc


class OldStatus(Model):
    """Fields of v1alpha1."""

    ready: Annotated[bool | None, doc("Was status.ready; status.initialization.provisioned says the same.")] = None
    failure_reason: Annotated[str, doc("Was status.failureReason; conditions say more.", maxLength=256)] = ""
    failure_message: Annotated[str, doc("Was status.failureMessage; conditions say more.", maxLength=10240)] = ""


class DeprecatedStatus(Model):
    """Fields of earlier versions."""

    v1beta1: Annotated[OldStatus | None, doc("Fields of v1alpha1, which followed the contract v1beta1.")] = (
        msgspec.field(default=None, name="v1beta1")
    )


class Initialization(Model):
    """How far the object has come into being. What became true stays true."""

    provisioned: Annotated[bool | None, doc("Whether it has been provided.")] = None
