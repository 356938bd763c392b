"""A small agent runtime whose agents learn from hindsight."""
