"""What a user may do: RBAC, the node authorizer, access reviews and the rules against granting more than one has."""
