"""Files and forms of other systems. The command line alone imports them, by name."""
