"""The text that the proxy prints when it listens."""

import shlex
import shutil
from importlib.metadata import version
from pathlib import Path

from bestbefore.addon.config.settings import Settings
from bestbefore.addon.proxy.pages.pages import HOST
from bestbefore.addon.traffic.files import FOLDER


def greeting(
    *,
    proxy_url: str,
    state: Path,
    ca_file: Path,
    bundle: Path,
    admin_url: str | None,
    store: str,
    traffic: str | None,
    show: str,
    workers: int = 1,
) -> str:
    """Return the text: addresses, number of processes, state folder, the certificate to trust, and a command to try.

    `traffic`: how long the traffic log is kept; None: there is none. `show`: the command `show` for this proxy.
    """
    admin = "  metrics      off\n"
    if admin_url:
        admin = f"  dashboard    {admin_url}/\n  metrics      {admin_url}/metrics\n"
    logged = "" if traffic is None else f"  traffic log  {state / FOLDER}: requests are kept for {traffic}\n"
    return f"""\
bestbefore {version("bestbefore")} listens on {proxy_url}

  state        {state} (store: {store})
  workers      {workers}
{logged}{admin}  certificate  {ca_file}
               Trust it, and HTTPS is cached too. How: open http://{HOST}/ through the proxy.
               For one command: curl --cacert {shlex.quote(str(bundle))}
  try          curl -i --proxy {proxy_url} http://{HOST}/clock
               Run it a few times: a page that changes every 20 s is fetched, served from the store, validated.
               See what was learnt: {show} http://{HOST}/clock

"""


def show_command(settings: Settings, default_state: Path, config_file: Path | None, program: str) -> str:
    """Return the command that shows what the proxy has learnt, as the user can type it in any folder.

    A store whose URL holds a password is left to the configuration file or to the user. `program`: how the proxy was
    called.
    """
    found = shutil.which("bestbefore")
    is_found = found is not None and Path(found).resolve() == Path(program).resolve()
    named = Path(program).name == "bestbefore" and Path(program).exists() and not is_found
    words = [str(Path(program).absolute()) if named else "bestbefore", "show"]
    if config_file is not None:
        words += ["--config", str(config_file.absolute())]
    if settings.state != default_state:
        words += ["--state", str(settings.state)]
    if settings.store != "embedded" and "@" not in settings.store:
        words += ["--store", settings.store]
    return shlex.join(words)
