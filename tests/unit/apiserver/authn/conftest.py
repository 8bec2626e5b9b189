from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nagaya.apiserver.authn import jwt
from nagaya.apiserver.authn.jwt import Signer
from nagaya.pki import keys
from nagaya.world import World

ISSUER = "https://kubernetes.default.svc.cluster.local"


class FixedClock:
    """A clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.date = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.date

    def monotonic(self) -> float:
        return self.date.timestamp()

    def advance(self, **by: float) -> None:
        self.date += timedelta(**by)


class Objects:
    """A memory of objects, by kind, namespace and name."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str, str], dict[str, Any]] = {}

    def add(self, kind: str, name: str, namespace: str = "default", **members: Any) -> dict[str, Any]:
        metadata = {"name": name, "uid": f"{name}-uid", **members.pop("metadata", {})}
        if namespace:
            metadata["namespace"] = namespace
        obj = {"metadata": metadata, **members}
        self.known[kind, namespace, name] = obj
        return obj

    def drop(self, kind: str, name: str, namespace: str = "default") -> None:
        del self.known[kind, namespace, name]

    def get_service_account(self, namespace: str, name: str) -> dict[str, Any] | None:
        return self.known.get(("ServiceAccount", namespace, name))

    def get_secret(self, namespace: str, name: str) -> dict[str, Any] | None:
        return self.known.get(("Secret", namespace, name))

    def get_pod(self, namespace: str, name: str) -> dict[str, Any] | None:
        return self.known.get(("Pod", namespace, name))

    def get_node(self, name: str) -> dict[str, Any] | None:
        return self.known.get(("Node", "", name))


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def world(clock: FixedClock) -> World:
    return World(clock, random.Random(1))


@pytest.fixture
def objects() -> Objects:
    return Objects()


@pytest.fixture(scope="session")
def signer() -> Signer:
    return Signer(keys.generate())


@pytest.fixture
def payload() -> Callable[[str], dict[str, Any]]:
    """Reads a token's claims without verifying it."""

    def read(token: str) -> dict[str, Any]:
        parsed = jwt.parse(token)
        assert parsed is not None
        return parsed.claims

    return read
