"""The hosts together: what each hears of the others, who is on, and what the HA manager does when one is not."""
