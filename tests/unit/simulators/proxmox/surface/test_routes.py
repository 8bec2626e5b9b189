from __future__ import annotations

import pytest

from nagaya.simulators.proxmox import surface
from support.subtest_cases import subtest_cases

ROUTES = surface.routes("9.2")


def test_a_path_gives_its_parameters() -> None:
    found = ROUTES.find("PUT", "/nodes/pve1/qemu/200/config")
    assert found is not None
    assert found.route.path == "/nodes/{node}/qemu/{vmid}/config"
    assert found.route.method == "PUT"
    assert found.path_parameters == {"node": "pve1", "vmid": "200"}


@pytest.mark.parametrize("path", ["/version", "version", "//version", "/version/", "/version//"])
def test_empty_parts_of_a_path_do_not_count(path: str) -> None:
    found = ROUTES.find("GET", path)
    assert found is not None
    assert found.route.path == "/version"


def test_a_volume_is_all_that_is_left_of_the_path() -> None:
    found = ROUTES.find("DELETE", "/nodes/pve1/storage/local/content/local:iso/debian.iso")
    assert found is not None
    assert found.path_parameters == {"node": "pve1", "storage": "local", "volume": "local:iso/debian.iso"}


def test_the_content_of_a_storage_is_no_volume() -> None:
    found = ROUTES.find("GET", "/nodes/pve1/storage/local/content")
    assert found is not None
    assert found.route.path == "/nodes/{node}/storage/{storage}/content"


@subtest_cases(
    ("method", "path"),
    [
        ("GET", "/foo"),
        ("GET", "/Nodes"),
        ("GET", "/nodes/pve1/foo"),
        ("GET", "/version/more"),
        ("PUT", "/nodes"),
        ("HEAD", "/version"),
        ("GET", "/nodes/a b/status"),
        ("POST", "/nodes/pve1/qemu/400/agent/dance"),
    ],
)
def test_what_is_no_route_is_not_found(method: str, path: str) -> None:
    assert ROUTES.find(method, path) is None


def test_a_path_can_be_known_without_the_method() -> None:
    assert ROUTES.knows_path("/nodes/pve1/qemu/200/status/start")
    assert ROUTES.find("GET", "/nodes/pve1/qemu/200/status/start") is None
    assert not ROUTES.knows_path("/nodes/pve1/qemu/200/status/begin")
    assert not ROUTES.knows_path("/cluster/sdn/controllers")


def test_a_folder_without_calls_of_its_own_is_no_known_path() -> None:
    assert not ROUTES.knows_path("/nodes/pve1/storage/local/file-restore")


def test_the_root_lists_what_there_is() -> None:
    found = ROUTES.find("GET", "/")
    assert found is not None
    assert found.route.permissions == surface.Permissions(user="all")


def test_a_route_is_had_by_its_template() -> None:
    route = ROUTES.get("POST", "/nodes/{node}/qemu/{vmid}/clone")
    assert (route.name, route.protected, route.proxy_to, route.allow_token) == ("clone_vm", True, "node", True)
    with pytest.raises(KeyError):
        ROUTES.get("POST", "/nodes/{node}/qemu/{vmid}/copy")


def test_routes_of_a_version_are_read_once() -> None:
    assert surface.routes("9.2") is ROUTES
    with pytest.raises(ValueError, match="knows no PVE 7"):
        surface.routes("7.4")


def test_families_have_as_many_members_as_pve_allows() -> None:
    options = ROUTES.get("POST", "/nodes/{node}/qemu").parameters.properties
    for family, count in {"net": 32, "scsi": 31, "virtio": 16, "sata": 6, "ide": 4, "unused": 256, "usb": 14}.items():
        assert f"{family}{count - 1}" in options
        assert f"{family}{count}" not in options
    assert options["net0"] is options["net31"]


def test_what_calls_have_in_common_exists_once() -> None:
    created = ROUTES.get("POST", "/nodes/{node}/qemu").parameters.properties["agent"]
    changed = ROUTES.get("PUT", "/nodes/{node}/qemu/{vmid}/config").parameters.properties["agent"]
    assert created is changed
