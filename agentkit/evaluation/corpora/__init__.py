"""Readers of labelled corpora, by path. Nothing of the data ships with the project."""
