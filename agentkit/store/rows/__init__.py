"""What is done with rows: plain functions of one session, each a part of one transaction."""
