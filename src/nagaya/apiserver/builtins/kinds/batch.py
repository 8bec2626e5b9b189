"""The kinds of the group `batch`: work that ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.cron_job import cron_jobs
from nagaya.apiserver.builtins.kinds.job import jobs
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.meta.gvk import GroupResource

KINDS: Final[Mapping[GroupResource, Kind]] = {
    GroupResource("batch", "jobs"): jobs(),
    GroupResource("batch", "cronjobs"): cron_jobs(),
}
