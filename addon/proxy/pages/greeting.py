"""The text that the proxy prints when it listens."""

import shlex
from importlib.metadata import version
from pathlib import Path

from bestbefore.addon.proxy.pages.pages import HOST
from bestbefore.addon.traffic.files import FOLDER


def greeting(
    *, proxy_url: str, state: Path, ca_file: Path, bundle: Path, admin_url: str | None, store: str, traffic: str | None
) -> str:
    """Return the text: addresses, state folder, the certificate to trust, and a command to try.

    `traffic`: how long the traffic log is kept; None: there is none.
    """
    admin = f"{admin_url}/metrics" if admin_url else "off"
    logged = "" if traffic is None else f"  traffic log  {state / FOLDER}: requests are kept for {traffic}\n"
    return f"""\
bestbefore {version("bestbefore")} listens on {proxy_url}

  state        {state} (store: {store})
{logged}  metrics      {admin}
  certificate  {ca_file}
               Trust it, and HTTPS is cached too. How: open http://{HOST}/ through the proxy.
               For one command: curl --cacert {shlex.quote(str(bundle))}
  try          curl -i --proxy {proxy_url} http://{HOST}/clock
               Run it a few times: a page that changes every 20 s is fetched, served from the store, validated.
               See what was learnt: bestbefore show http://{HOST}/clock

"""
