"""The wheel holds everything: a folder or a data file that is forgotten in pyproject is missing only from the wheel."""

import fnmatch
import re
import subprocess
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PYPROJECT["tool"]["setuptools"]
ROOTS = ("addon", "policies", "replay")

FOLDERS = sorted(
    folder
    for root in ROOTS
    for folder in (ROOT / root, *(ROOT / root).rglob("*"))
    if folder.is_dir() and folder.name != "__pycache__" and any(path.is_file() for path in folder.iterdir())
)


def package_of(folder: Path) -> str:
    return ".".join(("bestbefore", *folder.relative_to(ROOT).parts))


def test_the_packages_listed_are_the_folders() -> None:
    assert sorted(SETUPTOOLS["packages"]) == [package_of(folder) for folder in FOLDERS]


@pytest.mark.parametrize("folder", FOLDERS, ids=package_of)
def test_each_package_says_in_its_docstring_what_it_holds(folder: Path) -> None:
    assert (folder / "__init__.py").read_text().startswith('"""')


@pytest.mark.parametrize("root", ROOTS)
def test_each_root_package_is_where_pyproject_says_and_is_typed(root: str) -> None:
    assert SETUPTOOLS["package-dir"][f"bestbefore.{root}"] == root
    assert (ROOT / root / "py.typed").is_file()


def test_every_file_that_is_not_python_is_package_data() -> None:
    patterns = SETUPTOOLS["package-data"]["*"]
    data = [
        path
        for folder in FOLDERS
        for path in folder.iterdir()
        if path.is_file() and path.suffix not in {".py", ".pyc"}
    ]
    assert [path for path in data if not any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns)] == []


def test_the_python_for_development_is_one_that_the_package_supports() -> None:
    wanted = (ROOT / ".python-version").read_text().strip()
    lowest = PYPROJECT["project"]["requires-python"].removeprefix(">=")
    assert tuple(map(int, wanted.split("."))) >= tuple(map(int, lowest.split(".")))


def test_the_page_of_the_package_has_no_link_that_leads_nowhere() -> None:
    """On a package index a relative link of the README has no target."""
    page = metadata("bestbefore").get_payload()
    assert isinstance(page, str)
    assert "(`docs/clients.md`)" in page
    assert re.findall(r"\]\((?![a-z]+:|#)[^)]*\)", page) == []


def test_the_image_is_built_of_all_that_a_wheel_needs() -> None:
    needed = {"pyproject.toml", "README.md", "LICENSE", *PYPROJECT["build-system"]["backend-path"], *ROOTS}
    words = [line.split() for line in (ROOT / "deploy/Dockerfile").read_text().splitlines()]
    assert needed <= {name for line in words if line[:1] == ["COPY"] for name in line[1:-1]}
    kept = (ROOT / "deploy/Dockerfile.dockerignore").read_text().splitlines()
    assert {f"!{name}" for name in needed} <= set(kept)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the files that git has")
def test_the_root_has_no_further_entry() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {name.partition("/")[0] for name in listed.splitlines()} == {
        ".ci", ".gitignore", ".python-version", "CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml",
        "addon", "policies", "replay", "tests", "docs", "deploy",
    }  # fmt: skip
