"""HostedControlPlanes as processes of this machine: from what is declared to an API that answers.

    seen.py       everything that decisions depend on, at one moment
    plan.py       a decision list: for each phase whether it is done, what is to be done now, or who is waited for
    apply.py      the calls that the plan needs
    status.py     what is told: conditions (conditions.py), components, timeline

and nouns of their own: endpoint.py (where the API is reached), upgrade.py (which version is run now), facts.py (what
programs are told), known.py (what this process has done for a tenant and need not do again), deletion.py (how it ends),
refusal.py (why it gets nothing of a tenant that it names), encryption.py and kubelets.py (users' Secrets and tenants'
Nodes that decisions depend on). Both modes use the last three.
"""
