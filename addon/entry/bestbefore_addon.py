"""The addon as a script: `mitmdump -s "$(bestbefore addon-path)"`.

It holds no state: mitmproxy runs it as a module of its own, and again whenever the file changes.
"""

from bestbefore.addon.prefetcher.prefetcher import Prefetcher
from bestbefore.addon.proxy.mitm.hooks import BestBefore

addons = [BestBefore(companion=Prefetcher)]
