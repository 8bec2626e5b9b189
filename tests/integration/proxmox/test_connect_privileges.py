"""Each privilege that a connection is given, taken away in turn: the preflight names exactly it, and the line that it
prints, run as the administrator would, repairs it."""

from __future__ import annotations

import pytest

from nagaya.infrastructure.proxmox.client import Facts, Token, Trust
from nagaya.infrastructure.proxmox.privileges.held import Held
from nagaya.infrastructure.proxmox.privileges.image import ImageScope, image_missing
from nagaya.infrastructure.proxmox.privileges.missing import Missing
from nagaya.infrastructure.proxmox.privileges.operations import Feature, Release
from nagaya.infrastructure.proxmox.privileges.place import Scope
from nagaya.infrastructure.proxmox.privileges.preflight import Preflight, preflight
from nagaya.infrastructure.proxmox.privileges.setup import USUAL
from support.establishing import HOSTS, SCOPE, Office, play, without
from support.pveum import run as pveum

NINE, EIGHT = "9.2.11", "8.4.14"
RELEASES: dict[str, Release] = {NINE: (9, 2), EIGHT: (8, 4)}
FOR_PEOPLE = {"SDN.Audit", "VM.GuestAgent.FileRead"}
"""Without these nothing fails: names are missing in lists that people see, and guests cannot say what is wrong."""


class Desk:
    """A token that was made for a scope, and what the preflight says of it at this moment."""

    def __init__(self, office: Office, token: Token, scope: Scope, release: Release, features: tuple[Feature, ...]):
        self._office = office
        self.scope = scope
        self._release = release
        self._features = features
        self._client = office.connect(Facts(HOSTS, token, Trust(insecure=True)))
        self._root = office.root()
        self.token = token.id

    async def held(self) -> Held:
        return Held(await self._client.access.permissions())

    async def preflight(self) -> Preflight:
        more = tuple(each for each in self._features if each not in (*USUAL, Feature.NATIVE))
        return preflight(await self.held(), self.scope, self._release, self.token, more)

    async def images(self) -> tuple[Missing, ...]:
        scope = ImageScope(
            ("pve1",), self.scope.import_storages, self.scope.storages, self.scope.pool, self.scope.bridges[0]
        )
        return image_missing(await self.held(), scope, self._release, self.token)

    async def repair(self, missing: tuple[Missing, ...]) -> None:
        for each in missing:
            await pveum(self._root, each.command)

    async def close(self) -> None:
        await self._client.close()
        await self._root.close()


async def desk(office: Office, version: str, features: tuple[Feature, ...] = USUAL, scope: Scope = SCOPE) -> Desk:
    planned, done = await office.make(without(scope, templates=(9001,)), features=features)
    chosen = planned.wanted.chosen
    return Desk(office, Token(done.token, done.secret), chosen.scope, RELEASES[version], chosen.features)


def takings(office: Office) -> list[tuple[str, str]]:
    """Each role with each of its privileges."""
    return [(role, each) for role, held in sorted(office.access.roles.items()) for each in sorted(held)]


@pytest.mark.parametrize("version", [NINE, EIGHT])
@pytest.mark.parametrize("native", [False, True], ids=["cd", "agent"])
def test_each_privilege_that_is_taken_away_is_named_and_the_printed_line_repairs_it(version: str, native: bool) -> None:
    async def scenario(office: Office) -> None:
        features = (Feature.ALWAYS, Feature.NATIVE if native else Feature.ISO)
        at = await desk(office, version, features)
        assert (await at.preflight()).missing == ()
        named: set[str] = set()
        for role, privilege in takings(office):
            whole = dict(office.access.roles)
            office.access.roles[role] = whole[role] - {privilege}
            found = await at.preflight()
            if _needless(role, privilege, found, version):
                assert found.missing == ()
                office.access.roles[role] = whole[role]
                continue
            paths = {path for path, _, _, given in office.access.acl if given == role}
            assert {(each.path, each.privilege) for each in found.missing} == {(path, privilege) for path in paths}
            named.add(privilege)
            await at.repair(found.missing)
            assert (await at.preflight()).missing == ()
            assert office.access.roles == whole
        assert {"VM.Allocate", "SDN.Use", "Sys.Audit", "Datastore.AllocateSpace", "VM.Clone"} <= named
        agent = "VM.Monitor" if version == EIGHT else "VM.GuestAgent.Unrestricted" if native else "VM.GuestAgent.Audit"
        assert agent in named
        await at.close()

    play(scenario, version)


def _needless(role: str, privilege: str, found: Preflight, version: str) -> bool:
    if privilege in FOR_PEOPLE or (role, privilege) == ("NagayaMachines", "VM.Clone"):
        return True  # templates have a role of their own here
    # Whoever may run programs through the guest agent may ask it for addresses and write files, too.
    if privilege in ("VM.GuestAgent.Audit", "VM.GuestAgent.FileWrite") and found.delivery == "native":
        return True
    # Before PVE 9 there is one privilege for all that the guest agent does, so boot data has another way.
    return version == EIGHT and role == "NagayaMedia" and found.delivery == "native"


@pytest.mark.parametrize("version", [NINE, EIGHT])
def test_each_grant_that_is_taken_away_is_named_and_repaired(version: str) -> None:
    async def scenario(office: Office) -> None:
        at = await desk(office, version)
        for entry, below in sorted(office.access.acl.items()):
            path, _, _, role = entry
            if version == EIGHT and role == "NagayaMedia":
                continue
            del office.access.acl[entry]
            found = await at.preflight()
            assert {each.path for each in found.missing} == {path}
            assert {each.privilege for each in found.missing} == office.access.roles[role] - FOR_PEOPLE - (
                {"VM.Clone"} if role == "NagayaMachines" else set()
            )
            await at.repair(found.missing)
            assert office.access.acl[entry] is below
            assert (await at.preflight()).missing == ()
        await at.close()

    play(scenario, version)


@pytest.mark.parametrize("version", [NINE, EIGHT])
def test_each_privilege_for_images_is_named_and_repaired(version: str) -> None:
    async def scenario(office: Office) -> None:
        at = await desk(office, version, (*USUAL, Feature.IMAGES), without(SCOPE, import_storages=("local",)))
        assert await at.images() == ()
        whole = dict(office.access.roles)
        office.access.roles["NagayaHosts"] -= {"Sys.AccessNetwork"}
        found = await at.images()
        assert [(each.path, each.privilege) for each in found] == [("/nodes", "Sys.AccessNetwork")]
        await at.repair(found)
        assert await at.images() == ()
        assert office.access.roles == whole
        await at.close()

    play(scenario, version)


def test_high_availability_and_devices_are_named_only_if_they_are_used() -> None:
    async def scenario(office: Office) -> None:
        scope = without(SCOPE, devices=("gpu",))
        features = (*USUAL, Feature.HIGH_AVAILABILITY, Feature.DEVICES)
        at = await desk(office, NINE, features, scope)
        assert (await at.preflight()).missing == ()
        office.access.roles["NagayaCluster"] -= {"Sys.Console"}
        office.access.roles["NagayaDevices"] -= {"Mapping.Use"}
        found = await at.preflight()
        assert {(each.path, each.privilege) for each in found.missing} == {
            ("/", "Sys.Console"),
            ("/mapping/pci/gpu", "Mapping.Use"),
        }
        held = await at.held()
        assert preflight(held, at.scope, (9, 2), at.token).missing == ()
        await at.repair(found.missing)
        assert (await at.preflight()).missing == ()
        await at.close()

    play(scenario)
