"""Waiting until the volumes of a Node are detached: some storage deletes a disk together with the machine it is at."""
