"""What making images needs: each right taken away in turn is named, and the printed command gives it back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nagaya.infrastructure.proxmox.client import Endpoint, Facts, Proxmox, Token
from nagaya.infrastructure.proxmox.client.access import Grant
from nagaya.infrastructure.proxmox.image.apply import Run
from nagaya.infrastructure.proxmox.image.lacking import lacking, scope_of
from nagaya.infrastructure.proxmox.privileges.held import Held
from nagaya.infrastructure.proxmox.privileges.image import ImageScope, image_missing, image_privileges, may_clean
from nagaya.infrastructure.proxmox.privileges.operations import Feature
from nagaya.infrastructure.proxmox.privileges.place import Place
from support import pveum
from support.proxmox_image_lab import ImageLab, digest, image_lab, on_local_disks
from support.proxmox_transport import Valid
from support.subtest_cases import subtest_cases
from support.virtual_run import run

USER, TOKEN = "maker@pve", "maker@pve!images"
PATHS = {
    Place.HOSTS: "/nodes",
    Place.MEDIA: "/storage/local",
    Place.IMAGES: "/storage/local-lvm",
    Place.MACHINES: "/pool/nagaya",
    Place.NETWORK: "/sdn/zones/localnetwork/vmbr0",
}
RELEASE = (9, 2)
_ALWAYS = {place: image_privileges(place, RELEASE, ()) for place in PATHS}
EACH = [
    (place, name)
    for place, names in _ALWAYS.items()
    for name in names
    if name not in ("Datastore.Allocate", "Pool.Audit", "VM.Clone", "SDN.Audit")
]
"""All without which something fails."""


@asynccontextmanager
async def maker(it: ImageLab, without: tuple[Place, str] | None = None) -> AsyncIterator[Proxmox]:
    """A client with just the rights for images, on the pool alone, but one."""
    root = it.center.client
    await root.access.create_user(USER)
    token = await root.access.create_token(USER, "images")
    for place, names in _ALWAYS.items():
        held = [name for name in names if (place, name) != without]
        await root.access.create_role(f"Test{place.value.capitalize()}", held)
        for subject, kind in ((USER, "user"), (TOKEN, "token")):
            await root.access.grant(Grant(PATHS[place], f"Test{place.value.capitalize()}", subject, kind))
    facts = Facts((Endpoint("pve1"),), Token(token.id, token.secret))
    client = Proxmox(facts, it.center.emulator.world, transport=Valid(it.center.transport, it.center.emulator.version))
    try:
        yield client
    finally:
        await client.close()


def test_a_token_with_just_these_rights_makes_an_image() -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it, maker(it) as client:
            wanted = on_local_disks(it.publish(digest("first")))
            job = Run(client, wanted, lambda *_: None)
            planned = await job.plan()
            held = Held(await client.access.permissions())
            assert lacking(held, planned, wanted, RELEASE, TOKEN) == ()
            result = await job.apply(planned)
            assert result.complete, result
            assert not result.notes
            (guest,) = it.images().values()
            assert guest.config["tags"] == "debian-13"

    run(main())


@subtest_cases("lacks", EACH, ids=[f"{place.value}-{name}" for place, name in EACH])
def test_each_right_that_is_missing_is_named_and_its_command_grants_it(lacks: tuple[Place, str]) -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it, maker(it, lacks) as client:
            place, name = lacks
            scope = ImageScope(("pve1",), ("local",), ("local-lvm",), "nagaya", "vmbr0")
            found = image_missing(Held(await client.access.permissions()), scope, RELEASE, TOKEN)
            assert [(each.path, each.privilege) for each in found] == [(PATHS[place], name)]
            await pveum.run(it.center.client, found[0].command)
            assert not image_missing(Held(await client.access.permissions()), scope, RELEASE, TOKEN)

    run(main())


def test_rights_on_the_whole_data_center_do_instead_of_the_hosts_network() -> None:
    held = Held({"/": {"Sys.Audit": True, "Sys.Modify": True}})
    scope = ImageScope(hosts=("pve1",))
    assert "Sys.AccessNetwork" not in {each.privilege for each in image_missing(held, scope, RELEASE, TOKEN)}
    audit = Held({"/": {"Sys.Audit": True}})
    assert "Sys.AccessNetwork" in {each.privilege for each in image_missing(audit, scope, RELEASE, TOKEN)}


def test_a_host_with_an_entry_of_its_own_is_granted_the_right_there() -> None:
    held = Held({"/nodes/pve1": {"Sys.Audit": True}})
    (found, *_) = image_missing(held, ImageScope(hosts=("pve1",)), RELEASE, TOKEN)
    assert found.path == "/nodes/pve1"


def test_a_plan_without_work_needs_no_right() -> None:
    async def main() -> None:
        async with image_lab(hosts=1) as it:
            wanted = on_local_disks(it.publish(digest("first")))
            await it.add(wanted)
            assert scope_of(await it.plan(wanted), wanted).hosts == ()
            assert lacking(Held(), await it.plan(wanted), wanted, RELEASE, TOKEN) == ()

    run(main())


def test_letting_a_storage_take_images_needs_a_right_of_its_own() -> None:
    (found,) = image_missing(Held(), ImageScope(enables="local"), RELEASE, TOKEN)
    assert (found.path, found.privilege) == ("/storage", "Datastore.Allocate")


def test_a_role_has_what_machines_need_too() -> None:
    assert {"Sys.AccessNetwork", "Sys.Audit"} <= set(image_privileges(Place.HOSTS, RELEASE, (Feature.ALWAYS,)))
    assert may_clean(Held({"/storage/local": {"Datastore.Allocate": True}}), "local")
    assert not may_clean(Held(), "local")
