"""Ids, Φ and b in; probabilities out. Knows torch, numpy and safetensors, nothing of French."""

import os

# Threads that wait for each other sleep instead of spinning. That costs a training step one part
# in twenty on a quiet machine; where another program has a core, spinning takes the time from the
# very thread that is waited for, and a step takes twice as long again (`python -m benchmarks
# busy`). Said here, as it is heard only before torch is imported; what a user says stands.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
