"""Commands for what one call was refused for."""

from __future__ import annotations

from nagaya.infrastructure.proxmox.privileges.granting import command_for
from support.subtest_cases import subtest_cases

TOKEN = "nagaya@pve!nagaya"
RELEASE = (9, 2)


@subtest_cases(
    ("path", "privilege", "role"),
    [
        ("/vms/9001", "VM.Clone", "NagayaTemplates"),
        ("/vms/100", "VM.PowerMgmt", "NagayaMachines"),
        ("/pool/nagaya", "VM.Allocate", "NagayaMachines"),
        ("/storage/local-lvm", "Datastore.AllocateSpace", "NagayaImages"),
        ("/storage/local", "Datastore.AllocateTemplate", "NagayaMedia"),
        ("/sdn/zones/localnetwork/vmbr0", "SDN.Use", "NagayaNetwork"),
        ("/nodes/pve1", "Sys.Audit", "NagayaHosts"),
        ("/", "Sys.Audit", "NagayaCluster"),
    ],
)
def test_the_role_of_the_place_is_granted_whole_to_user_and_token(path: str, privilege: str, role: str) -> None:
    command = command_for(path, (privilege,), RELEASE, TOKEN)
    assert command.startswith(f"pveum role add {role} --privs ")
    assert privilege in command
    below = int(path != "/")
    ending = f"pveum acl modify {path} --users nagaya@pve --tokens '{TOKEN}' --roles {role} --propagate {below}"
    assert command.endswith(ending)


def test_what_no_role_has_is_not_guessed() -> None:
    assert command_for("/vms/100", ("VM.Backup",), RELEASE, TOKEN) == ""
    assert command_for("/access", ("User.Modify",), RELEASE, TOKEN) == ""
