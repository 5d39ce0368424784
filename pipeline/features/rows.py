"""What templates give: a row for each feature of each word."""

import numpy as np
import pandas as pd


def rows(words, features, values=1.0) -> pd.DataFrame:
    return pd.DataFrame({"word": np.asarray(words), "feature": features, "value": values})
