"""Cluster, Machine, MachineSet, MachineDeployment, MachineHealthCheck: the heart of Cluster API.

Providers are seen through the contract only (`nagaya.api.contract`), never by their types.
"""
