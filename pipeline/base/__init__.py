"""What a person sees: messages, tables, figures."""
