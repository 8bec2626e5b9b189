from __future__ import annotations

import asyncio
import threading

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from nagaya.clusters.certificates.key_maker import KeyMaker
from nagaya.pki import keys
from nagaya.pki.keys import KeyAlgorithm, PrivateKey
from support.waiting import eventually


async def test_every_algorithm_can_be_had() -> None:
    maker = KeyMaker()
    assert isinstance(await maker.key(KeyAlgorithm.RSA_2048), rsa.RSAPrivateKey)
    assert isinstance(await maker.key(KeyAlgorithm.ECDSA_P384), ec.EllipticCurvePrivateKey)


async def test_slow_keys_are_made_elsewhere_and_only_a_few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    running, most, made = 0, 0, keys.generate()
    threads: set[int] = set()
    lock, free = threading.Lock(), threading.Event()

    def slow(algorithm: KeyAlgorithm) -> PrivateKey:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            threads.add(threading.get_ident())
        free.wait(5)
        with lock:
            running -= 1
        return made

    monkeypatch.setattr(keys, "generate", slow)
    maker = KeyMaker(at_once=2)
    waiting = [asyncio.create_task(maker.key(KeyAlgorithm.RSA_4096)) for _ in range(20)]
    await eventually(lambda: running >= 2)
    await asyncio.sleep(0.05)  # shows that no other begins
    free.set()
    assert await asyncio.gather(*waiting) == [made] * 20
    assert most == 2
    assert threading.get_ident() not in threads


async def test_quick_keys_do_not_wait_for_slow_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    maker = KeyMaker(at_once=1)
    async with maker._gate:
        assert isinstance(await maker.key(KeyAlgorithm.ECDSA_P256), ec.EllipticCurvePrivateKey)
