"""The embedded API server as a whole: made of its parts, started, stopped.

One `ApiServer` is one value without global state. On disk it is a folder with the database and the keys; in memory it
is nothing but objects, and thousands fit into one process. `handle` serves a request without any network; `listen`
opens the port.
"""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import nagaya
from nagaya.apiserver import identity as identities
from nagaya.apiserver import reviews
from nagaya.apiserver.admission.chain import Admission
from nagaya.apiserver.admission.given_rules import Rules
from nagaya.apiserver.admission.plugins import default_plugins
from nagaya.apiserver.authn.anonymous import Anonymous
from nagaya.apiserver.authn.bearer import BearerTokens
from nagaya.apiserver.authn.bootstrap_tokens import BootstrapTokens
from nagaya.apiserver.authn.chain import Authentication
from nagaya.apiserver.authn.client_certificates import ClientCertificates
from nagaya.apiserver.authn.facts import TokenAuthenticator
from nagaya.apiserver.authn.impersonation import Impersonation
from nagaya.apiserver.authn.jwt import Signer, VerificationKeys
from nagaya.apiserver.authn.service_accounts import ServiceAccountTokens
from nagaya.apiserver.authn.static_tokens import StaticTokens
from nagaya.apiserver.authn.token_requests import TokenRequests
from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authorization import Authorization
from nagaya.apiserver.authz.escalation import EscalationCheck
from nagaya.apiserver.bootstrap import bootstrap
from nagaya.apiserver.builtins.assemble import assemble
from nagaya.apiserver.controllers import assembly
from nagaya.apiserver.controllers.runner import Runner
from nagaya.apiserver.custom.definitions import Definitions
from nagaya.apiserver.custom.given_versions import Versions
from nagaya.apiserver.identity import Identity
from nagaya.apiserver.lookups import StoreLookups
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.catalog import Catalog
from nagaya.apiserver.seed import Seed
from nagaya.apiserver.storage import Store, open_store
from nagaya.apiserver.streams.forwarder import Forwarder
from nagaya.apiserver.streams.upgrade import add_port_forward
from nagaya.apiserver.web import documents, health, version
from nagaya.apiserver.web.audit import AuditLog, AuditSettings
from nagaya.apiserver.web.handler import Handler
from nagaya.apiserver.web.limits import Limits
from nagaya.apiserver.web.listener import Listener
from nagaya.apiserver.web.observer import Observer, Observers
from nagaya.apiserver.web.request import Request, Response
from nagaya.apiserver.webhooks.client import WebhookClient
from nagaya.pki.authority import CertificateAuthority
from nagaya.world import World

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
SERVICE_RANGE: Final = "10.96.0.0/12"  # where Services have their addresses


@dataclass(slots=True)
class Config:
    """How a server is set up. Without a data folder everything is in memory and gone with the process."""

    data_dir: Path | None = None
    encryption_key: Path | None = None  # the key file for Secrets in it, instead of its own
    host: str = "127.0.0.1"
    port: int = 0
    hosts: Sequence[str] = ()  # further names and addresses for the serving certificate
    authority: CertificateAuthority | None = None  # instead of one of its own; for servers in memory
    seed: Seed | None = None  # of a server in memory: what it need not make because another has
    kubernetes_version: str = version.KUBERNETES_VERSION  # what `/version` says; the API is that of 1.36 regardless
    addresses: Sequence[str] = ()  # by which others know this machine, for a server that listens on all or on none
    tokens: Mapping[str, User] = field(default_factory=dict)  # static bearer tokens
    anonymous: bool = True
    nodes: bool = False  # whether kubelets join: what they may do then follows from the pods bound to them
    # Where webhooks' Services are that run beside this server: "namespace/name" to "host:port".
    services: Mapping[str, str] = field(default_factory=dict)
    rules: Mapping[str, Rules] = field(default_factory=dict)  # by `plural.group`: for kinds that others define
    versions: Mapping[str, Versions] = field(default_factory=dict)  # by `plural.group`: further ones of such kinds
    observers: Sequence[Observer] = ()
    audit: AuditSettings | None = None
    metrics: bool = False  # serve `/metrics`
    limits: Limits = field(default_factory=Limits)
    forwarder: Forwarder | None = None  # what is behind the ports of pods; without it there is no pods/portforward
    without: Collection[str] = ()  # controllers to leave out, of those in `controllers.assembly.OPTIONAL`


class ApiServer:
    """A running server. Made by `start`."""

    def __init__(self, config: Config, world: World, store: Store, identity: Identity) -> None:
        self._config = config
        self.world = world
        self.store = store
        self.identity = identity
        self._ready = False
        self._listener: Listener | None = None
        authorization = Authorization(store, nodes=config.nodes)
        lookups = StoreLookups(store)
        public = VerificationKeys([identity.token_key.public_key()])
        audiences = (ISSUER,)
        accounts = ServiceAccountTokens(public, [ISSUER], audiences, lookups, world.clock)
        tokens: list[TokenAuthenticator] = [
            StaticTokens(config.tokens, audiences),
            accounts,
            BootstrapTokens(lookups, world.clock, audiences),
        ]
        authentication = Authentication(
            [ClientCertificates(world.clock), BearerTokens(tokens)],
            audiences,
            Anonymous() if config.anonymous else None,
        )
        escalation = EscalationCheck(authorization.index, authorization)
        self.backend = Backend(world, store, Catalog(), Admission(), authorization, escalation, config.versions)
        self._webhooks = WebhookClient(self.backend, config.services)
        self.backend.admission = Admission(
            default_plugins(self.backend, self._webhooks, config.rules, nodes=config.nodes)
        )
        signer = Signer(identity.token_key)
        requests = TokenRequests(signer, ISSUER, audiences, lookups, world)
        builtins = assemble(reviews.handlers(authentication, authorization, requests), world.clock.now)
        if config.forwarder is not None:
            add_port_forward(builtins, config.forwarder)
        self.backend.catalog.add(builtins)
        endpoints = {
            **health.endpoints({"ping": lambda: ""}, {"bootstrap": self._unready, "storage": self._store_problem}),
            "/version": version.endpoint(version.document(nagaya.__version__, config.kubernetes_version)),
            **documents.endpoints(self.backend, ISSUER, public, f"{config.host}:{config.port}"),
        }
        observers = list(config.observers)
        self._audit = None if config.audit is None else AuditLog(config.audit, world.clock)
        if self._audit is not None:
            observers.append(self._audit)
        if config.metrics:
            # Imported here because most of the servers in a process of many have no metrics.
            from nagaya.apiserver.web.metrics import Metrics

            metrics = Metrics(store, lambda: self._runner, config.data_dir, lambda: self._listener)
            observers.append(metrics)
            endpoints["/metrics"] = metrics.endpoint()
        self._handler = Handler(
            self.backend,
            authentication,
            Impersonation(authorization),
            endpoints,
            frozenset(each.gvr.group for each in builtins),
            Observers(observers),
        )
        self._definitions = Definitions(self.backend, self._webhooks)
        self._runner = Runner(
            store,
            world,
            [
                self._definitions,
                *assembly.standard(self.backend, identity.authority, signer, SERVICE_RANGE, config.without),
            ],
        )

    @classmethod
    async def start(cls, config: Config | None = None, world: World | None = None) -> ApiServer:
        """A server that serves `handle`. Raises DataRefused or ValueError, with a remedy, if data cannot be used."""
        config, world = config or Config(), world or World()
        hosts = [config.host, *config.hosts]
        if config.data_dir is None:
            contents = None if config.seed is None else config.seed.contents()
            identity = identities.make(world.clock, hosts, config.authority)
            server = cls(config, world, Store(world.clock, contents=contents), identity)
        else:
            store = await open_store(config.data_dir, world.clock, key=config.encryption_key)
            try:
                identity = identities.load_or_make(config.data_dir / "pki", world.clock, hosts)
                server = cls(config, world, store, identity)
            except BaseException:
                await store.close()
                raise
        try:
            await server._begin()
        except BaseException:
            await server.store.close()
            raise
        return server

    async def _begin(self) -> None:
        # First what every server has, then the controllers: they would look at each default role as it comes.
        config = self._config
        seeded = config.seed is not None
        await bootstrap(self.backend, config.host, config.port, config.addresses, seeded=seeded)
        self._runner.start()
        self._ready = True

    def _unready(self) -> str:
        return "" if self._ready else "still starting"

    def _store_problem(self) -> str:
        return "the store is closed" if self.store.closed else self.store.problem

    async def handle(self, request: Request) -> Response:
        """Serve a request that did not come over the network."""
        return await self._handler(request)

    async def listen(self, sock: socket.socket | None = None) -> str:
        """Open the port and return the URL. Raises OSError if it cannot be had."""
        sock = sock or bind(self._config.host, self._config.port)
        self._listener = Listener(self._handler, sock, self.identity.tls(), limits=self._config.limits)
        await self._listener.start()
        return self.url

    @property
    def url(self) -> str:
        """Where clients find the server."""
        assert self._listener is not None, "the server listens"
        host = f"[{self._config.host}]" if ":" in self._config.host else self._config.host
        return f"https://{host}:{self._listener.port}"

    def kubeconfig(self) -> dict[str, Any]:
        """The administrator's kubeconfig."""
        return self.identity.kubeconfig(self.url)

    async def settled(self) -> None:
        """Wait until the server's own controllers have nothing to do. For tests."""
        await self._runner.settled()

    async def stop(self) -> None:
        """Finish answers under way, make everything durable, close."""
        self._ready = False
        if self._listener is not None:
            await self._listener.stop()
        await self._runner.stop()
        await self._webhooks.close()
        await self.store.close()
        if self._audit is not None:
            await self._audit.close()


def bind(host: str, port: int) -> socket.socket:
    """A socket to listen on. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except BaseException:
        sock.close()
        raise
    return sock
