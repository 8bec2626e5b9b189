"""The etcd of a simulated cluster: members that know each other, and speak etcd's API to whoever asks them.

Members are data, without logs and without elections that take time. What the outside can see of them follows etcd's
rules: who leads, what needs a majority, which changes of members are refused. Nothing of the cluster is stored in them.
"""
