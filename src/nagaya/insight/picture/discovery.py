"""Which kinds there are, for whoever may not read definitions: by discovery, which everybody may ask.

Discovery does not tell contracts. Groups list their versions with the best first, and that one is taken.
"""

from __future__ import annotations

from typing import Final

from nagaya.api.model import Model
from nagaya.insight.picture.kinds import GROUP, Definition, DefinitionSpec, Names, Version
from nagaya.kube.client import Client
from nagaya.kube.decoding import read_document

ACCEPT: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Kindred(Model):
    """The name of a kind."""

    kind: str = ""


class Found(Model):
    """A resource of a version."""

    resource: str
    scope: str = "Namespaced"
    singular_resource: str = ""
    short_names: tuple[str, ...] = ()
    response_kind: Kindred = Kindred()


class Served(Model):
    """A version of a group."""

    version: str
    resources: tuple[Found, ...] = ()


class Name(Model):
    """The name of a group."""

    name: str = ""


class Group(Model):
    """A group of the API."""

    metadata: Name = Name()
    versions: tuple[Served, ...] = ()


class Groups(Model):
    """What discovery answers."""

    items: tuple[Group, ...] = ()


async def discovered(client: Client) -> list[Definition]:
    """Definitions as far as discovery tells them. Raises what the client does."""
    answer = await client.raw("GET", "/apis", accept=ACCEPT)
    groups = read_document(Groups, "/apis", answer.body).items
    found: dict[tuple[str, str], Definition] = {}
    for group in groups:
        name = group.metadata.name
        if name != GROUP and not name.endswith(f".{GROUP}"):
            continue
        for version in group.versions:
            for each in version.resources:
                spec = DefinitionSpec(
                    group=name,
                    names=Names(
                        kind=each.response_kind.kind,
                        plural=each.resource,
                        singular=each.singular_resource,
                        short_names=each.short_names,
                    ),
                    scope=each.scope,
                    versions=(Version(name=version.version, served=True, storage=True),),
                )
                found.setdefault((name, each.resource), Definition(spec=spec))
    return list(found.values())
