"""The least that Proxmox VE has to have for a connection: a pool, roles, a user, a token, and who may do what where.

It is data, so that it can be shown before anything is done, done through the API, or printed as commands. All of it can
be repeated: what is there already is left, or gets what it lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from nagaya.infrastructure.proxmox.client.access import Grant
from nagaya.infrastructure.proxmox.privileges.commands import grant_line, pool_line, role_line, token_line, user_line
from nagaya.infrastructure.proxmox.privileges.image import image_privileges
from nagaya.infrastructure.proxmox.privileges.operations import Feature, Release
from nagaya.infrastructure.proxmox.privileges.place import Place, Scope, role_at, spots
from nagaya.infrastructure.proxmox.privileges.roles import INHERITED, ROLES, privileges

USER: Final = "nagaya@pve"
TOKEN_NAME: Final = "nagaya"  # noqa: S105 - the name of a token, no secret
POOL: Final = "nagaya"
USUAL: Final = (Feature.ALWAYS, Feature.ISO)
COMMENT: Final = "made by nagaya proxmox connect"


@dataclass(frozen=True, slots=True)
class Setup:
    """What there has to be."""

    pool: str
    user: str
    token_name: str
    roles: Mapping[str, tuple[str, ...]]
    """Privileges by role."""
    grants: tuple[Grant, ...]
    """Each of them for the user and for the token: a token has only what both have."""

    @property
    def token(self) -> str:
        """The id of the token: user@realm!name."""
        return f"{self.user}!{self.token_name}"

    def commands(self) -> tuple[str, ...]:
        """The same as `pveum` commands. The one that makes the token prints its secret."""
        placed = dict.fromkeys((each.path, each.role, each.propagate) for each in self.grants)
        return (
            *((pool_line(self.pool, COMMENT),) if self.pool else ()),
            *(role_line(role, held) for role, held in self.roles.items()),
            user_line(self.user, COMMENT),
            token_line(self.user, self.token_name, COMMENT),
            *(grant_line(path, role, self.token, propagate=below) for path, role, below in placed),
        )


def setup(
    release: Release,
    scope: Scope,
    *,
    user: str = USER,
    token_name: str = TOKEN_NAME,
    features: tuple[Feature, ...] = USUAL,
) -> Setup:
    """The setup for what a connection works with. `scope` names its pool, storages and bridges; what it does not name
    is granted for all of a sort."""
    roles: dict[str, tuple[str, ...]] = {}
    grants: list[Grant] = []
    for place in Place:
        more = image_privileges if Feature.IMAGES in features else privileges
        held = more(place, release, features)
        if not held:
            continue
        for spot in spots(place, scope):
            if role_at(place, spot.path, scope) is not place:
                continue
            roles[ROLES[place]] = held
            for subject, kind in ((user, "user"), (f"{user}!{token_name}", "token")):
                grants.append(Grant(spot.path, ROLES[place], subject, kind, place in INHERITED))
    return Setup(scope.pool, user, token_name, roles, tuple(grants))
