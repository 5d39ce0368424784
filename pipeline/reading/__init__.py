"""From sentences to tables of their words: surprisal, and what a model expects before each."""
