"""How a machine is made: its boot configuration, its host, and then the Machine that ties them together.

All three have one name. The objects of providers belong to the set until their Machine takes them over, so what a
crash leaves behind is found and deleted before anything else is made. If a later one cannot be made, the earlier ones
are taken back at once. A lost answer is the exception: the object may be there, so the server is asked, and nothing
is taken back before it has answered.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.api.cluster.name_template import RANDOM_ALPHABET, RANDOM_LENGTH, TemplateError, generate_name
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.contract.template import clone
from nagaya.clusters import owners
from nagaya.core.machine_set.propagation import machine_annotations, machine_labels, new_machine
from nagaya.core.machine_set.provider_objects import Made, Template
from nagaya.core.machine_set.seen import Seen
from nagaya.kube.api import Api
from nagaya.kube.errors import ApiError, NotFound
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.transport import NoAnswer

log = logging.getLogger(__name__)

NAME_TEMPLATE: Final = "{{ .machineSet.name }}-{{ .random }}"
RANDOM: Final = "{{ .random }}"
FIRST_BATCH: Final = 4
LARGEST_BATCH: Final = 16
"""Machines are made a few at first and then more at a time: if nothing can be made, that is found out cheaply."""
_NAME_TRIES: Final = 100


@dataclass(slots=True)
class Creation:
    """Makes machines of one set."""

    rt: Runtime
    api: Api
    seen: Seen

    async def machines(self, count: int) -> None:
        """Make so many. Raises the first error once the batch that had it is through."""
        size, made = FIRST_BATCH, 0
        taken: set[str] = set()
        while made < count:
            names = [self._name(taken) for _ in range(min(size, count - made))]
            results = await asyncio.gather(*map(self._one, names), return_exceptions=True)
            errors = [each for each in results if isinstance(each, BaseException)]
            for error in errors[1:]:
                log.warning("MachineSet %s: a machine could not be made: %s", Key.of(self._set), error)
            if errors:
                raise errors[0]
            made += len(names)
            size = min(2 * size, LARGEST_BATCH)

    @property
    def _set(self) -> MachineSet:
        return self.seen.machine_set

    async def _one(self, name: str) -> None:
        made: list[Made] = []
        try:
            for template in self.seen.templates:
                obj = await self._clone(template, name)
                made.append(obj)
            machine = await self._machine(name)
        except ApiError:
            for each in reversed(made):
                # The next look finds what cannot be deleted now.
                with suppress(ApiError):
                    await self.api.delete(each.kind, each.object)
            raise
        log.info("MachineSet %s: Machine %s created (scale up)", Key.of(self._set), machine.metadata.name)
        note = f'Created Machine "{machine.metadata.name}"'
        self.rt.recorder.normal(MACHINE_SETS, self._set, "SuccessfulCreate", note)

    async def _clone(self, template: Template, name: str) -> Made:
        assert template.object is not None
        assert template.made is not None
        obj = clone(
            template.object,
            name=name,
            cluster=self._set.spec.cluster_name,
            owner=owners.owner(MACHINE_SETS, self._set),
            labels=machine_labels(self._set),
            annotations=machine_annotations(self._set),
        )
        return Made(template.made, await self.api.apply(template.made, obj.raw))

    async def _machine(self, name: str) -> Machine:
        seen = self.seen
        assert seen.infrastructure is not None
        infrastructure = _reference(seen.infrastructure, name)
        bootstrap = None if seen.bootstrap is None else _reference(seen.bootstrap, name)
        content = new_machine(self._set, name, bootstrap, infrastructure)
        try:
            return await self.api.apply(MACHINES, content)
        except NoAnswer as lost:
            try:
                machine = await self.rt.client.get(MACHINES, self._set.metadata.namespace, name)
            except NotFound:
                raise lost from None
            self.rt.cache.wrote(MACHINES, machine)
            return machine

    def _name(self, taken: set[str]) -> str:
        """A name that nothing of its kind has."""
        template = self._set.spec.machine_naming.template or NAME_TEMPLATE
        if RANDOM not in template:
            raise TemplateError("cannot generate Machine name: {{ .random }} is missing in machineNaming.template")
        data = {"cluster": {"name": self._set.spec.cluster_name}, "machineSet": {"name": self._set.metadata.name}}
        for _ in range(_NAME_TRIES):
            random = "".join(self.rt.world.random.choices(RANDOM_ALPHABET, k=RANDOM_LENGTH))
            name = generate_name(template, data, random)
            if name not in taken and self._free(name):
                taken.add(name)
                return name
        raise TemplateError(f'no name is left that "{template}" makes: {_NAME_TRIES} of them are taken')

    def _free(self, name: str) -> bool:
        cache, key = self.rt.cache, Key(self._set.metadata.namespace, name)
        if cache.get(MACHINES, key) is not None:
            return False
        return all(each.made is None or cache.get(each.made, key) is None for each in self.seen.templates)


def _reference(template: Template, name: str) -> ContractReference:
    assert template.made is not None
    return ContractReference(api_group=template.made.group, kind=template.made.kind, name=name)
