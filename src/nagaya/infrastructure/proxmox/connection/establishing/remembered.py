"""What a connection was asked to be good for, kept with it: whoever runs the command again need not say it again.

Without that, running it again with fewer words would mean more rights, as what nobody names is granted for all.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Final

import msgspec

from nagaya.infrastructure.proxmox.privileges.operations import Feature
from nagaya.infrastructure.proxmox.privileges.place import Scope
from nagaya.infrastructure.proxmox.privileges.setup import POOL, USER, USUAL

ANNOTATION: Final = "infrastructure.nagaya.dev/connected-for"
"""On a ProxmoxConnection."""
_NETWORKS: Final = frozenset({"bridges", "zones"})
_TEMPLATES: Final = frozenset({"templates", "template_pool"})
"""What is named together: one of them replaces all."""
_NAMES: Final = tuple(each.name for each in fields(Scope))
_WAYS: Final = frozenset({Feature.ISO, Feature.NATIVE})
"""Of boot data. One that is named replaces the other."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """What was asked. What is empty was not said."""

    scope: Scope = field(default_factory=Scope)
    features: tuple[Feature, ...] = ()
    user: str = ""

    def written(self) -> str:
        """As the annotation has it."""
        scope = {name: value for name, value in asdict(self.scope).items() if value}
        said = {"scope": scope, "features": self.features, "user": self.user}
        return msgspec.json.encode({name: value for name, value in said.items() if value}, order="sorted").decode()


def read(text: str) -> Purpose:
    """From the annotation. What cannot be read says nothing."""
    try:
        return msgspec.json.decode(text, type=Purpose) if text else Purpose()
    except msgspec.DecodeError:
        return Purpose()


def settled(said: Purpose, before: Purpose) -> Purpose:
    """What is said now, what was said before where nothing is, and what is usual where nothing ever was."""
    given = {name for name in _NAMES if getattr(said.scope, name)}
    for together in (_NETWORKS, _TEMPLATES):
        if given & together:
            given |= together
    kept = {name: getattr(before.scope, name) for name in _NAMES if name not in given}
    scope = replace(said.scope, **kept)
    earlier = before.features or USUAL
    if _WAYS & {*said.features}:
        earlier = tuple(each for each in earlier if each not in _WAYS)
    return Purpose(
        replace(scope, pool=scope.pool or POOL),
        tuple(dict.fromkeys((Feature.ALWAYS, *earlier, *said.features))),
        said.user or before.user or USER,
    )
