"""Clients of a tenant's API that keep their connections and repeat nothing: what fails is seen.

Like the pools of HTTP clients they look whether a kept connection has ended before they use it again. One that has not
ended is used, and must carry the request.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import select
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Self

import aiohttp

from support.hosting import Tenant

_CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
_BODY = json.dumps({"metadata": {"generateName": "load-"}, "data": {"a": "b"}})
_HEADERS = {"Content-Type": "application/json"}
TIGHT = (0.0, 0.04)
"""Seconds between requests: hardly any, but the API server shall have something of the processors, too."""
PAUSES = (0.2, 1.0)


def _path(method: str) -> str:
    return _CONFIG_MAPS if method == "POST" else f"{_CONFIG_MAPS}?limit=20"


class KeptLoad:
    """Several clients at once, each one request after the other."""

    def __init__(self, tenant: Tenant, kubectl: Path) -> None:
        self._tenant = tenant
        self._kubectl = kubectl
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self.succeeded: Counter[str] = Counter()
        self.failed: list[tuple[str, str]] = []
        self.connections: Counter[str] = Counter()
        for pauses, name in ((TIGHT, "tight"), (PAUSES, "with pauses")):
            for method in ("GET", "POST"):
                self._add(f"http.client {method} {name}", partial(self._kept, method, pauses))
                self._add(f"aiohttp {method} {name}", partial(self._pooled, method, pauses))
        self._add("kubectl", self._programs)

    def _add(self, key: str, work: Callable[[str], None]) -> None:
        self._threads.append(threading.Thread(target=work, args=(key,), name=key))

    @property
    def clients(self) -> set[str]:
        """Their names."""
        return {thread.name for thread in self._threads}

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _note(self, key: str, problem: str) -> None:
        if problem:
            self.failed.append((key, problem))
        else:
            self.succeeded[key] += 1

    def _kept(self, method: str, pauses: tuple[float, float], key: str) -> None:
        tenant = self._tenant
        connection = http.client.HTTPSConnection(tenant.address, tenant.port, timeout=30, context=tenant.context)
        while not self._stop.is_set():
            if connection.sock is not None and select.select([connection.sock], [], [], 0)[0]:
                connection.close()
            self.connections[key] += connection.sock is None
            problem = ""
            try:
                connection.request(method, _path(method), _BODY if method == "POST" else None, _HEADERS)
                answer = connection.getresponse()
                content = answer.read()
                if answer.status not in (200, 201):
                    problem = f"{answer.status} {content[:200]!r}"
            except (OSError, http.client.HTTPException) as error:
                problem = repr(error)
                connection.close()
            self._note(key, problem)
            self._stop.wait(random.uniform(*pauses))
        connection.close()

    def _pooled(self, method: str, pauses: tuple[float, float], key: str) -> None:
        asyncio.run(self._pool(method, pauses, key))

    async def _pool(self, method: str, pauses: tuple[float, float], key: str) -> None:
        connector = aiohttp.TCPConnector(ssl=self._tenant.context)
        async with aiohttp.ClientSession(self._tenant.server, connector=connector) as session:
            session._retry_connection = False  # it would repeat a GET by itself
            while not self._stop.is_set():
                problem = ""
                try:
                    data = _BODY if method == "POST" else None
                    async with session.request(method, _path(method), data=data, headers=_HEADERS) as answer:
                        content = await answer.read()
                        if answer.status not in (200, 201):
                            problem = f"{answer.status} {content[:200]!r}"
                except (aiohttp.ClientError, OSError, TimeoutError) as error:
                    problem = repr(error)
                self._note(key, problem)
                await asyncio.sleep(random.uniform(*pauses))

    def _programs(self, key: str) -> None:
        words = (f"--kubeconfig={self._tenant.kubeconfig}", "get", "namespaces", "-o", "name")
        while not self._stop.is_set():
            done = subprocess.run([self._kubectl, *words], capture_output=True, text=True, timeout=60, check=False)
            self._note(key, "" if done.returncode == 0 else done.stderr)
            self._stop.wait(0.2)
