"""What calls were refused for, beside what a preflight found."""

from __future__ import annotations

from nagaya.infrastructure.proxmox.privileges.missing import Missing
from nagaya.infrastructure.proxmox.privileges.refusal import Refusal, lacking

WHO = "nagaya@pve!nagaya"
RELEASE = (9, 2)


def test_a_refusal_where_no_preflight_looks_is_told_with_what_it_was_for_and_the_command() -> None:
    (found,) = lacking((), [Refusal("/vms/9001", ("VM.Clone",))], RELEASE, WHO)
    assert (found.path, found.privilege, found.operation) == ("/vms/9001", "VM.Clone", "clone machines")
    assert "pveum acl modify /vms/9001 --users nagaya@pve --tokens 'nagaya@pve!nagaya'" in found.command
    assert "--roles NagayaTemplates" in found.command


def test_what_the_preflight_misses_is_not_told_once_more_for_each_machine() -> None:
    known = (Missing("/pool/nagaya", "VM.Config.CPU", "configure machines", "pveum"),)
    refused = [Refusal(f"/vms/{vmid}", ("VM.Config.CPU",)) for vmid in (100, 101)]
    assert lacking(known, refused, RELEASE, WHO) == known


def test_a_path_and_a_privilege_are_told_once() -> None:
    refused = [Refusal("/vms/100", ("VM.Console",)), Refusal("/vms/100", ("VM.Console", "VM.Backup"))]
    (found,) = lacking((), refused, RELEASE, WHO)
    assert (found.operation, found.command) == ("do what was refused", "")
