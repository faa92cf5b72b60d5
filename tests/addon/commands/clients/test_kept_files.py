"""The files that are made for programs and kept."""

from pathlib import Path

from bestbefore.addon.commands.clients.kept_files import kept_file, wget_settings


def test_a_file_is_made_once_for_a_source(tmp_path: Path) -> None:
    made = []

    def make() -> bytes:
        made.append(1)
        return b"content"

    paths = [kept_file(tmp_path / "cache", source, ".x", make) for source in (b"a", b"a", b"b")]
    assert len(made) == 2
    assert paths[0] == paths[1] != paths[2]
    assert paths[0].read_bytes() == b"content"
    assert sorted(paths[0].parent.iterdir()) == sorted({*paths}), "nothing else is left there"


def test_wget_keeps_the_settings_of_the_system(tmp_path: Path) -> None:
    system = tmp_path / "wgetrc"
    bundle = Path("/my state/ca-bundle.pem")
    assert wget_settings(system, bundle, tmp_path).read_text() == "\nca_certificate = /my state/ca-bundle.pem\n"
    system.write_text("passive_ftp = on")
    assert wget_settings(system, bundle, tmp_path).read_text().splitlines() == [
        "passive_ftp = on", "ca_certificate = /my state/ca-bundle.pem",
    ]
