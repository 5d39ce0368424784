"""YAML files become frozen dataclasses; the presets are files to copy."""
