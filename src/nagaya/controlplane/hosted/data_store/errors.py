"""What can be wrong with a store, as sentences for conditions: no keys, values or passwords are in them."""

from __future__ import annotations


class StoreError(Exception):
    """Base of a store's errors."""


class StoreUnavailable(StoreError):
    """The store does not answer. What was asked for may have been done in part; asking again completes it."""


class StoreRefused(StoreError):
    """The store answers, and does not let us."""


class StoreNotEmpty(StoreError):
    """Data would be mixed with data that is there already."""

    @classmethod
    def of_tenant(cls, tenant: str) -> StoreNotEmpty:
        """The place of a tenant is in use."""
        return cls(
            f"the place of tenant {tenant} has keys, which may be the only copy of its data. Back them up before you "
            "remove them: a copy is written to an empty place only."
        )


class SnapshotDamaged(StoreError):
    """A copy is not whole."""
