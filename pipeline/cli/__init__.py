"""The command line: a table of commands, one file for each group."""
