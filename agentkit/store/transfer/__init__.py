"""Moving a store: everything of one user, or of all, into one file and back.

The file is JSON Lines, gzip where its name ends in `.gz`. The first line says what wrote it and how
much there is; then comes one record a line, named by `record`; the last line closes with the counts
and the SHA-256 of all lines before it, so that a file that was cut or changed is noticed.
"""
