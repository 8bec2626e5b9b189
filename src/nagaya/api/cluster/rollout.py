"""How machines are replaced when their template changes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar, Final

from nagaya.api.model import Model, doc

ROLLING_UPDATE: Final = "RollingUpdate"
ON_DELETE: Final = "OnDelete"

RolloutAfter = Annotated[
    datetime | None,
    doc(
        "Replaces all machines that were made before this moment, once it has come, although the template has not "
        "changed. Example: 2026-05-01T00:00:00Z."
    ),
]


class RollingUpdate(Model):
    """How many machines may be too many or too few while they are replaced."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    max_unavailable: Annotated[
        int | str | None,
        doc(
            "How many machines fewer than wanted may be available during the rollout: a number, or a share such as "
            "20%, rounded down. It must not be 0 if maxSurge is 0. 0 if left out."
        ),
    ] = None
    max_surge: Annotated[
        int | str | None,
        doc(
            "How many machines more than wanted there may be during the rollout: a number, or a share such as 20%, "
            "rounded up. It must not be 0 if maxUnavailable is 0. 1 if left out."
        ),
    ] = None


class RolloutStrategy(Model):
    """How machines are replaced when their template changes."""

    type: Annotated[
        str,
        doc(
            "RollingUpdate replaces machines bit by bit, OnDelete waits until somebody deletes them. RollingUpdate if "
            "the strategy is left out.",
            enum=[ROLLING_UPDATE, ON_DELETE],
        ),
    ]
    rolling_update: Annotated[RollingUpdate, doc("How far RollingUpdate may go at a time.")] = RollingUpdate()


STRATEGY: Final = doc("How machines are replaced when their template changes.", minProperties=1)


class Rollout(Model):
    """When and how machines are replaced."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    after: RolloutAfter = None
    strategy: Annotated[RolloutStrategy | None, STRATEGY] = None
