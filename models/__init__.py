"""Ids, Φ and b in; probabilities out. Needs torch, numpy and safetensors, and knows no French."""
