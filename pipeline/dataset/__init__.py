"""Read the files that the stages made from texts and words."""
