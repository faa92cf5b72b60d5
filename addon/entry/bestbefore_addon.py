"""The addon as a script: `mitmdump -s "$(bestbefore addon-path)"`.

It holds no state: mitmproxy runs it as a module of its own, and again whenever the file changes.
"""

from bestbefore.addon.hub.companions import of_proxy
from bestbefore.addon.proxy.mitm.hooks import BestBefore

addons = [BestBefore(companion=of_proxy)]
