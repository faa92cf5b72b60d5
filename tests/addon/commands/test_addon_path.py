import json
from pathlib import Path

from click.testing import CliRunner

from bestbefore.addon.cli import cli


def test_the_path_is_that_of_the_script_for_mitmdump() -> None:
    result = CliRunner().invoke(cli, ["addon-path"])
    path = Path(result.output.rstrip("\n"))
    assert result.exit_code == 0
    assert path.name == "bestbefore_addon.py"
    assert "addons = [BestBefore(" in path.read_text()
    assert json.loads(CliRunner().invoke(cli, ["addon-path", "--json"]).output) == {"path": str(path)}


def test_the_script_is_alone_in_its_folder() -> None:
    """mitmproxy puts that folder first on sys.path, where any neighbour would shadow a module of the user's."""
    result = CliRunner().invoke(cli, ["addon-path"])
    folder = Path(result.output.rstrip("\n")).parent
    assert {path.name for path in folder.glob("*.py")} == {"__init__.py", "bestbefore_addon.py"}
