"""When a Secret with credentials may go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from nagaya.api.meta import ObjectMeta
from nagaya.api.proxmox.group import CONNECTION_SECRET_FINALIZER as FINALIZER
from nagaya.api.proxmox.proxmox_connection import ProxmoxConnection, ProxmoxConnectionSpec, SecretReference
from nagaya.infrastructure.proxmox.connection.secret_hold import MOMENT, holds, next_look
from nagaya.infrastructure.proxmox.connection.secrets import CredentialsSecret

NOW = datetime(2026, 5, 1, tzinfo=UTC)
LONG_AGO = NOW - MOMENT
JUST_NOW = NOW - MOMENT + timedelta(seconds=4)


def secret(*finalizers: str, deleted: datetime | None = None) -> CredentialsSecret:
    metadata = ObjectMeta(name="pve", namespace="default", finalizers=finalizers, deletion_timestamp=deleted)
    return CredentialsSecret(metadata=metadata)


def connection(deleted: datetime | None = None) -> ProxmoxConnection:
    spec = ProxmoxConnectionSpec(credentials_ref=SecretReference(name="pve"))
    return ProxmoxConnection(
        metadata=ObjectMeta(name="pve", namespace="default", deletion_timestamp=deleted), spec=spec
    )


def wanted(of: CredentialsSecret, *users: ProxmoxConnection) -> list[tuple[str, ...]]:
    return [each.finalizers for each in holds([of], lambda _: users, NOW)]


def test_it_is_held_while_a_connection_names_it() -> None:
    assert wanted(secret("other"), connection()) == [("other", FINALIZER)]
    assert wanted(secret("other", FINALIZER), connection()) == []


def test_one_that_no_connection_names_is_let_go() -> None:
    assert wanted(secret("other", FINALIZER)) == [("other",)]
    assert wanted(secret("other")) == []


@pytest.mark.parametrize("deleted", [LONG_AGO, JUST_NOW])
def test_it_stays_for_a_connection_that_goes_too(deleted: datetime) -> None:
    assert wanted(secret(FINALIZER, deleted=deleted), connection(deleted=NOW)) == []


def test_one_that_is_deleted_alone_goes_after_a_moment() -> None:
    assert wanted(secret(FINALIZER, deleted=JUST_NOW), connection()) == []
    assert next_look([secret(FINALIZER, deleted=JUST_NOW)], NOW) == 4
    assert wanted(secret(FINALIZER, deleted=LONG_AGO), connection()) == [()]
    assert next_look([secret(FINALIZER, deleted=LONG_AGO)], NOW) is None


def test_what_is_being_deleted_without_it_is_left_alone() -> None:
    assert wanted(secret("other", deleted=JUST_NOW), connection()) == []
