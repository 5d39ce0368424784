"""Ids, Φ and b in; probabilities out. Knows torch, numpy and safetensors, nothing of French."""

import os

# Threads that wait for each other sleep instead of spinning. Spinning is no faster, and where
# another program has a core it takes the time from the very thread that is waited for. Said here,
# as it is heard only before torch is imported; what a user says stands.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
