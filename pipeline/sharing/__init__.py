"""Models given away and received: export, card, hub, ARPA files, and the checks of what comes."""
