"""Rights in an emulated data center, as `nagaya proxmox connect` gives them."""

from __future__ import annotations

from dataclasses import replace

from nagaya.infrastructure.proxmox.client import Token as ByToken
from nagaya.infrastructure.proxmox.privileges.place import Scope
from nagaya.infrastructure.proxmox.privileges.setup import Setup
from nagaya.simulators.proxmox.state.access import Token, User
from nagaya.simulators.proxmox.state.datacenter import Datacenter
from support.proxmox_transport import DataCenter

SECRET = "a-secret"
SCOPE = Scope("nagaya", templates=(9001, 9002, 9003), storages=("local-lvm",), iso_storage="local", bridges=("vmbr0",))
"""What machines of the emulated data center use."""


def give(datacenter: Datacenter, made: Setup, *, secret: str = SECRET, lacking: str = "") -> None:
    """Set up a user, its token and their rights, but for one right."""
    access = datacenter.access
    access.users[made.user] = User(tokens={made.token_name: Token(secret)})
    access.roles |= {role: frozenset(held) - {lacking} for role, held in made.roles.items()}
    access.acl |= {(each.path, each.kind, each.subject, each.role): each.propagate for each in made.grants}


def go_on_with(there: DataCenter, made: Setup, *, lacking: str = "") -> None:
    """Let the client go on with that token alone."""
    give(there.emulator.datacenter, made, lacking=lacking)
    there.client.replace(replace(there.client.facts, credentials=ByToken(made.token, SECRET)))
