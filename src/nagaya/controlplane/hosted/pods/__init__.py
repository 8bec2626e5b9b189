"""Tenants as pods of a management cluster: Kubernetes mode.

What the objects are is rendered by `hosted.kubernetes`, purely; here it is decided when each is applied, and told how
they fare.

    controller.py      puts it together
    seen.py            everything that decisions depend on, at one moment
    plan.py            a decision list: for each phase whether it is done, what is to be done now, or who is waited for
    apply.py           the calls that the plan needs
    status.py          what is told: conditions (conditions.py), components (components.py), timeline
    deletion.py        how it ends

and nouns of their own:

    endpoint.py        where the API is reached, by its Service
    certificates.py    the files of programs, kept in the Secrets that pods have them from
    tenancies.py       what objects and certificates depend on, from what is seen
    applying.py        whether an object has to be applied, and may be
    management_api.py  where the management cluster's own API is, which tenants shall not reach
    known.py           what this process has done for a tenant and need not do again

What always holds: an object that belongs to somebody else is never changed; nothing is applied that is as it shall be;
controllers are never newer than an API server that they may talk to; data is removed after the last pod, not before.
"""
