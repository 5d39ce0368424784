"""What the report shows of the scores of several models."""
