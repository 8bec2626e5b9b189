"""The messages of etcd's API, version 3, as etcd 3.4 to 3.7 know them: those that Nagaya sends or reads.

Names are ours in form (`peer_urls`) and etcd's in substance; the numbers are what travels.
"""
