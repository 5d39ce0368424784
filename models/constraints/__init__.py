"""What is known of words before the network speaks: words that are primed, spellings that match."""
