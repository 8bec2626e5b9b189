"""The code behind each route: one module for each noun of the API."""
