"""What objects look like: types shared by built-in kinds and custom resources."""
