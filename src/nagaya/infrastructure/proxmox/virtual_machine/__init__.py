"""The VM behind a reservation: whose it is, where it is, and how it is taken away without harm to any other."""
