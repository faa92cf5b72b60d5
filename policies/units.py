"""Units of all models and policies: durations, the hour bins of the UTC day, and types of arrays.

Times are Unix seconds (UTC, float64); a name that ends in `_s` is in seconds, in `_h` in hours.
"""

import numpy as np
from numpy.typing import NDArray

HOUR_S = 3600.0
DAY_S = 86400.0
BINS = 24
"""The number of hour bins of the UTC day; bin k is [k:00, k+1:00)."""

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
