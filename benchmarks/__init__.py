"""Speed, memory and shape of Accord, measured side by side: `python -m benchmarks NAME`.

Not installed; it runs in a checkout.
"""

from accord import models  # noqa: F401  which says how threads wait, before torch is imported
