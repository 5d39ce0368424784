"""What the stages made of texts and words, read back."""
