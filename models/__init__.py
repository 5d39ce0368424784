"""Ids, Φ and b in; probabilities out. Knows torch, numpy and safetensors, nothing of French."""
