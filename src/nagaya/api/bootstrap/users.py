"""Accounts that are on the machine before kubeadm runs."""

from __future__ import annotations

from typing import Annotated

from nagaya.api.model import Model, doc


class SecretPasswdSource(Model):
    """One entry of a Secret."""

    name: Annotated[str, doc("Name of the Secret, in the namespace of the KubeadmConfig.", minLength=1, maxLength=253)]
    key: Annotated[str, doc("The entry that holds the hash of the password.", minLength=1, maxLength=256)]


class PasswdSource(Model):
    """Where the hash of a password comes from."""

    secret: Annotated[SecretPasswdSource, doc("Take the hash from a Secret.")]


class User(Model):
    """An account to create."""

    name: Annotated[str, doc("Login name.", minLength=1, maxLength=256)]
    gecos: Annotated[str, doc("Full name and remarks, as in /etc/passwd.", minLength=1, maxLength=256)] = ""
    groups: Annotated[
        str, doc("Further groups of the user, joined by commas, such as users,docker.", minLength=1, maxLength=256)
    ] = ""
    home_dir: Annotated[str, doc("Home folder. /home and the name if left out.", minLength=1, maxLength=256)] = ""
    inactive: Annotated[bool | None, doc("If true, the account is created but cannot be used.")] = None
    shell: Annotated[
        str, doc("Login shell, such as /bin/bash. That of the system if left out.", minLength=1, maxLength=256)
    ] = ""
    passwd: Annotated[
        str,
        doc(
            "Hash of the password, as mkpasswd prints it. Anyone who reads this object sees it: prefer passwdFrom.",
            minLength=1,
            maxLength=256,
        ),
    ] = ""
    passwd_from: Annotated[PasswdSource | None, doc("Where the hash of the password comes from.")] = None
    primary_group: Annotated[
        str, doc("Main group of the user. One of the user's name if left out.", minLength=1, maxLength=256)
    ] = ""
    lock_password: Annotated[bool | None, doc("If true, nobody can log in with a password. True if left out.")] = None
    sudo: Annotated[
        str,
        doc(
            "What the user may do with sudo, such as ALL=(ALL) NOPASSWD:ALL. Nothing if left out.",
            minLength=1,
            maxLength=256,
        ),
    ] = ""
    ssh_authorized_keys: Annotated[
        tuple[Annotated[str, doc("A public key.", minLength=1, maxLength=2048)], ...],
        doc("Public keys that open the account over SSH.", list_type="atomic", maxItems=100),
    ] = ()
