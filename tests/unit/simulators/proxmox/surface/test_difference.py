"""PVE 8.4 where it is otherwise than 9.2."""

from __future__ import annotations

import pytest

from nagaya.simulators.proxmox import surface
from nagaya.simulators.proxmox.surface import difference
from nagaya.simulators.proxmox.verification import verify

OLD = surface.routes("8.4")
NEW = surface.routes("9.2")


@pytest.mark.parametrize(
    "path", ["/cluster/ha/rules", "/cluster/bulk-action/guest", "/cluster/qemu/custom-cpu-models", "/cluster/sdn/lock"]
)
def test_what_came_later_is_not_there(path: str) -> None:
    assert NEW.knows_path(path)
    assert not OLD.knows_path(path)


def test_groups_of_high_availability_are_there() -> None:
    assert OLD.find("POST", "/cluster/ha/groups") is not None


def test_the_agent_needs_one_right_for_everything() -> None:
    for command in ("exec", "file-write", "ping"):
        assert OLD.get("POST", f"/nodes/{{node}}/qemu/{{vmid}}/agent/{command}").permissions == difference.MONITOR
    listing = OLD.get("GET", "/nodes/{node}/qemu/{vmid}/agent").permissions
    assert listing == surface.Permissions(user="all")


def test_roles_have_the_rights_of_their_time() -> None:
    for routes, held, refused in (
        (OLD, "VM.Monitor", "VM.GuestAgent.Audit"),
        (NEW, "VM.GuestAgent.Audit", "VM.Monitor"),
    ):
        parameters = routes.get("POST", "/access/roles").parameters
        assert verify(parameters, {"roleid": "Role", "privs": f"VM.Audit {held}"}) == {}
        assert verify(parameters, {"roleid": "Role", "privs": f"VM.Audit {refused}"}) == {
            "privs": f"invalid format - invalid privilege '{refused}'\n"
        }


def test_later_options_are_refused() -> None:
    path = "/nodes/{node}/qemu/{vmid}/config"
    given = {"node": "pve1", "vmid": "100", "allow-ksm": "1"}
    assert verify(NEW.get("PUT", path).parameters, given) == {}
    assert list(verify(OLD.get("PUT", path).parameters, given)) == ["allow-ksm"]


def test_every_later_parameter_exists_in_the_newer_version() -> None:
    for path, names in difference.LATER_PARAMETERS.items():
        known = {name for route in NEW if route.path == path for name in route.parameters.properties}
        assert names <= known, path


def test_the_rest_is_the_same() -> None:
    path = "/nodes/{node}/qemu/{vmid}/clone"
    assert OLD.get("POST", path) is NEW.get("POST", path)
