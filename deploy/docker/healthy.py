"""The health check of the image: exit status 0 if the proxy answers and can write what it learns.

BESTBEFORE_HEALTH names another address than the default of `admin`.
"""

import json
import os
import sys
from urllib.request import urlopen

with urlopen(os.environ.get("BESTBEFORE_HEALTH", "http://127.0.0.1:8081/healthz"), timeout=4) as answer:  # noqa: S310
    sys.exit(json.load(answer)["status"] != "ok")
