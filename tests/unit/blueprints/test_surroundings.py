"""What a cluster on Proxmox VE finds around it, and which command makes what it does not."""

from __future__ import annotations

import pytest

from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS
from nagaya.blueprints.surroundings import Missing, check_template, connection, tags_there, versions
from nagaya.cli.in_process import InProcessTransport
from nagaya.kube.client import Client
from support.prepared import start_prepared
from support.proxmox_image_lab import digest, image_lab, on_local_disks
from support.virtual_run import run, virtual_world

OLD = frozenset({"kubernetes", "kubernetes-v1.35.10"})
NEW = frozenset({"kubernetes", "kubernetes-v1.36.3", "gpu"})
PLAIN = frozenset({"debian-13"})


def test_versions_are_those_of_templates_the_newest_first() -> None:
    assert versions([OLD, NEW, PLAIN, frozenset({"kubernetes-v1.35.4"})]) == ["v1.36.3", "v1.35.10", "v1.35.4"]
    assert versions([OLD, NEW], ["gpu"]) == ["v1.36.3"]


def test_a_template_counts_as_soon_as_it_is_made_though_the_list_does_not_say_yet_what_it_is() -> None:
    async def main() -> None:
        async with image_lab() as it:
            await it.add(on_local_disks(it.publish(digest("first"))))
            rows = (await it.center.client.inventory.get(0)).machines
            assert {rows[vmid].template for vmid in it.images()} == {None}
            check_template(await tags_there(it.center.client), "v1.36.3", [], "debian-13")

    run(main())


def test_a_connection_that_is_being_deleted_makes_no_machines() -> None:
    async def main() -> None:
        world = virtual_world()
        server = await start_prepared(world)
        client = Client(InProcessTransport(server), world=world)
        content = {
            "metadata": {"name": "lab", "namespace": "default", "finalizers": ["example.com/held"]},
            "spec": {"endpoints": ["https://pve:8006"], "credentialsRef": {"name": "lab"}},
        }
        try:
            await client.create(PROXMOX_CONNECTIONS, content)
            assert (await connection(client, "default")).name == "lab"
            await client.delete(PROXMOX_CONNECTIONS, "default", "lab")
            for name in ("", "lab"):
                with pytest.raises(Missing) as caught:
                    await connection(client, "default", name)
                assert "ProxmoxConnection default/lab is being deleted" in str(caught.value)
                assert "`nagaya why proxmoxconnection/lab -n default` says what holds it" in str(caught.value)
                assert "nagaya proxmox connect URL --name NAME, and name it with --connection." in str(caught.value)
        finally:
            await client.close()
            await server.stop()

    run(main())


def test_a_template_that_fits_is_enough() -> None:
    check_template([OLD, NEW], "v1.36.3", ["gpu"], "")
    check_template([PLAIN], "v1.36.3", [], "debian-13")


@pytest.mark.parametrize(
    ("version", "tags", "image", "told"),
    [
        ("v1.37.1", [], "", "There are templates for v1.36.3, v1.35.10: choose one with --version."),
        ("v1.37.1", [], "", "nagaya proxmox image add --url URL --kubernetes v1.37.1"),
        ("v1.36.3", ["fast"], "", "has the tags fast, kubernetes-v1.36.3."),
        ("v1.36.3", [], "ubuntu-24.04", "nagaya proxmox image add --distribution ubuntu-24.04"),
    ],
)
def test_without_one_the_command_that_makes_it_is_named(version: str, tags: list[str], image: str, told: str) -> None:
    with pytest.raises(Missing) as caught:
        check_template([OLD, NEW, PLAIN], version, tags, image)
    assert told in str(caught.value)
