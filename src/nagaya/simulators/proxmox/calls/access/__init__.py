"""Below /access: users, groups, roles, tokens, realms, rights, and logging in."""
