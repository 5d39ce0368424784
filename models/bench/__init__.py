"""What is measured side by side; `python -m models.bench` needs torch and numpy only."""
