"""What happened unseen in the file on pools, rights and users."""

from __future__ import annotations

from support.proxmox_recorded.unseen import Before, asked, both, done

begin = done("POST", "/nodes/pve1/qemu/200/status/start")


BEFORE: dict[str, Before] = {
    "07.04": asked("POST", "/pools", {"poolid": "p1", "comment": "a comment"}),
    "07.20": asked("POST", "/pools", {"poolid": "p1/sub"}),
    "07.28": asked("PUT", "/pools", {"poolid": "p1", "vms": "200", "delete": 1}),
    "07.29": asked("PUT", "/pools", {"poolid": "p1", "vms": "201", "delete": 1}),
    "07.31": both(
        asked("PUT", "/pools", {"poolid": "p1", "storage": "store", "delete": 1}), asked("DELETE", "/pools/p1")
    ),
    "07.43": asked("PUT", "/access/roles/MyRole", {"privs": "VM.Clone", "append": 1}),
    "07.46": asked("PUT", "/access/acl", {"path": "/vms/200", "roles": "MyRole", "users": "alice@pve"}),
    "07.64": both(
        asked("POST", "/access/roles", {"roleid": "MyRole", "privs": "VM.Audit,VM.Clone"}),
        asked("PUT", "/access/acl", {"path": "/vms/200", "roles": "MyRole", "users": "alice@pve"}),
    ),
    "07.77": asked("POST", "/access/users/alice@pve/token/new1"),
    "07.88": asked("PUT", "/access/users/alice@pve/token/new2", {"comment": "d", "privsep": 1}),
    "07.91": asked("DELETE", "/access/users/alice@pve/token/new1"),
    "07.95": both(
        asked("DELETE", "/access/users/alice@pve/token/new2"), asked("DELETE", "/access/users/alice@pve/token/own")
    ),
    "07.110": asked("DELETE", "/access/users/dave@nosuch"),
    "07.115": asked("POST", "/access/groups", {"groupid": "admins"}),
    "07.118": asked("DELETE", "/access/groups/admins"),
}
