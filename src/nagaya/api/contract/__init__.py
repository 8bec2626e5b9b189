"""What providers promise each other: the Cluster API contract, in the versions v1beta1 and v1beta2.

Core, bootstrap, control plane and infrastructure see each other's objects only through here. Everything is a pure
function of an object's content; nobody's types are needed.
"""
