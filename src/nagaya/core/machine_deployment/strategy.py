"""How far a rollout may go at a time, in numbers of machines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from nagaya.api.cluster.machine_deployment import MachineDeploymentSpec
from nagaya.api.cluster.rollout import ON_DELETE, ROLLING_UPDATE, RollingUpdate

MAX_SURGE: Final = 1
"""What maxSurge is if left out."""
MAX_UNAVAILABLE: Final = 0
"""What maxUnavailable is if left out."""


class InvalidStrategy(ValueError):
    """A strategy that nobody can follow."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a rollout keeps to."""

    replicas: int
    max_surge: int = 0
    max_unavailable: int = 0

    @property
    def at_most(self) -> int:
        """How many machines there may be."""
        return self.replicas + self.max_surge

    @property
    def available_at_least(self) -> int:
        """How many machines must be available."""
        return max(self.replicas - self.max_unavailable, 0)


def kind_of_strategy(spec: MachineDeploymentSpec) -> str:
    """RollingUpdate, unless another strategy is given. Raises InvalidStrategy."""
    strategy = spec.rollout.strategy
    if strategy is None or not strategy.type:
        return ROLLING_UPDATE
    if strategy.type not in (ROLLING_UPDATE, ON_DELETE):
        raise InvalidStrategy(
            f"unexpected deployment strategy type: {strategy.type}. "
            f"Set spec.rollout.strategy.type to {ROLLING_UPDATE} or {ON_DELETE}."
        )
    return strategy.type


def limits(spec: MachineDeploymentSpec) -> Limits:
    """The limits of a deployment. With OnDelete there is neither surge nor tolerance. Raises InvalidStrategy."""
    replicas = spec.replicas or 0
    if kind_of_strategy(spec) != ROLLING_UPDATE:
        return Limits(replicas)
    given = rolling_update(spec)
    surge = _number(given.max_surge, MAX_SURGE, replicas, "maxSurge", up=True)
    unavailable = _number(given.max_unavailable, MAX_UNAVAILABLE, replicas, "maxUnavailable", up=False)
    if not surge and not unavailable:
        # A share may have been rounded down to nothing. Then one machine goes before another comes, since one more
        # machine might be over some quota.
        unavailable = 1
    return Limits(replicas, surge, min(unavailable, replicas))


def rolling_update(spec: MachineDeploymentSpec) -> RollingUpdate:
    """What the deployment says of rolling updates."""
    strategy = spec.rollout.strategy
    return RollingUpdate() if strategy is None else strategy.rolling_update


def _number(value: int | str | None, default: int, total: int, field: str, *, up: bool) -> int:
    if value is None:
        return default
    if isinstance(value, int):
        return value
    share = value.removesuffix("%")
    if share == value or not share.removeprefix("-").isdecimal():
        raise InvalidStrategy(
            f"invalid value for IntOrString: {value} is not a percentage. "
            f"Set spec.rollout.strategy.rollingUpdate.{field} to a number, or to a share such as 20%."
        )
    exact = int(share) * total / 100
    return math.ceil(exact) if up else math.floor(exact)
