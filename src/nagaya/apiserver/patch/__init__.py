"""The three ways to say what should change in an object: JSON Patch, merge patch, strategic merge patch."""
