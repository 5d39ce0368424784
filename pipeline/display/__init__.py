"""What a person sees: progress, tables, figures, the report's page, "did you mean"."""
