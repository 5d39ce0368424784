"""YAML becomes checked sections."""
