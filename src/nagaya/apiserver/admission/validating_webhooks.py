"""ValidatingWebhookConfigurations: all webhooks meant for a write are asked at the same time; each may refuse it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.admission import reviews, versions
from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.admission.rules import GROUP, Shown
from nagaya.apiserver.admission.webhooks import CallFailure, Hook, Webhooks
from nagaya.apiserver.custom.conversion import WebhookCaller
from nagaya.apiserver.meta.status import ApiError
from nagaya.apiserver.registry.backend import Backend

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

TABLE: Final = f"{GROUP}/validatingwebhookconfigurations"
_FAILED_OPEN: Final = "failed-open.validating.webhook.admission.k8s.io/round_0_index_"


class ValidatingWebhooks(Plugin):
    """Asks webhooks whether a write is right."""

    def __init__(self, backend: Backend, caller: WebhookCaller) -> None:
        self._webhooks = Webhooks(backend, caller, TABLE)

    async def validate(self, write: Attributes) -> None:
        """Ask all at once; of several refusals the first configured one is told."""
        named = self._webhooks.named(write)
        if not named:
            return
        meant = [(hook, form) for _, hook, form in named if await self._webhooks.is_meant(hook, form, write)]
        if len(meant) == 1:
            refusals = [await self._ask(0, *meant[0], write)]
        else:
            asking = [self._ask(position, hook, form, write) for position, (hook, form) in enumerate(meant)]
            refusals = list(await asyncio.gather(*asking))
        for refusal in refusals:
            if refusal is not None:
                raise refusal

    async def _ask(self, position: int, hook: Hook, form: Shown, write: Attributes) -> ApiError | None:
        try:
            new = await versions.shown(write.object, write.resource, form)
            answer = await self._webhooks.ask(hook, form, write, new, mutating=False)
        except CallFailure as failure:
            if not hook.ignores_failure:
                return failure.refusal()
            write.call.audit_annotations[f"{_FAILED_OPEN}{position}"] = hook.name
            return None
        except ApiError as error:
            return error
        return None if answer.allowed else reviews.refusal(hook.name, answer.result)
