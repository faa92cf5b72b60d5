import os
from pathlib import Path

import certifi
import pytest

from bestbefore.addon.config.problems import ConfigError
from bestbefore.addon.config.watch import ConfigWatch, Refused, Reloaded
from bestbefore.policies.validation.rules.ttl import Ttl

FIRST = '[proxy]\nmax_cached_body = "1MiB"\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "c.toml"
    path.write_text(FIRST)
    return path


@pytest.fixture
def watch(path: Path) -> ConfigWatch:
    return ConfigWatch(path)


def settle(watch: ConfigWatch) -> Reloaded | Refused | None:
    """Two polls: a change is answered when the file has kept still."""
    first = watch.poll()
    assert first is None
    return watch.poll()


def reloaded(watch: ConfigWatch) -> Reloaded:
    answer = settle(watch)
    assert isinstance(answer, Reloaded)
    return answer


def refused(watch: ConfigWatch) -> str:
    answer = settle(watch)
    assert isinstance(answer, Refused)
    return answer.message


def test_a_file_that_does_not_change_is_not_reloaded(watch: ConfigWatch) -> None:
    assert [watch.poll() for _ in range(5)] == [None] * 5


def test_without_a_file_nothing_changes() -> None:
    watch = ConfigWatch(None)
    assert settle(watch) is None


def test_a_wrong_file_at_the_start_is_an_error(path: Path) -> None:
    path.write_text("[proxi]")
    with pytest.raises(ConfigError):
        ConfigWatch(path)


def test_a_change_of_the_rules_is_in_force_once_the_file_keeps_still(path: Path, watch: ConfigWatch) -> None:
    path.write_text(FIRST + '[[domain]]\nmatch = "a.org"\npolicy = "ttl"\n')
    answer = reloaded(watch)
    assert watch.config is answer.config
    assert answer.config.rules.rule_for("a.org", "/").policy.policy == Ttl()
    assert answer.need_restart == ()
    assert settle(watch) is None


def test_hot_settings_change_and_the_others_are_named_and_stay(path: Path, watch: ConfigWatch) -> None:
    path.write_text('[proxy]\nmax_cached_body = "2MiB"\nlisten = "127.0.0.1:1"\nkeep = "1d"\nstale_if_down = "1h"\n')
    answer = reloaded(watch)
    before = ConfigWatch(None).config.settings
    assert answer.need_restart == ("listen", "keep", "stale_if_down")
    assert answer.config.settings.max_cached_body == 2 << 20
    assert answer.config.settings.listen == before.listen
    assert answer.config.rules.default.stale_if_down_s is None


def test_a_setting_that_is_changed_back_needs_no_restart(path: Path, watch: ConfigWatch) -> None:
    path.write_text(FIRST + 'keep = "1d"\n')
    assert reloaded(watch).need_restart == ("keep",)
    path.write_text(FIRST)
    assert settle(watch) is None


def test_an_option_goes_on_ruling_after_a_reload(path: Path) -> None:
    watch = ConfigWatch(path, {"listen": "127.0.0.1:2"})
    path.write_text(FIRST + 'listen = "127.0.0.1:1"\noffline = true\n')
    answer = reloaded(watch)
    assert answer.need_restart == ()
    assert answer.config.settings.offline


def test_offline_can_be_switched_over_the_file_and_stays_so_after_a_reload(path: Path, watch: ConfigWatch) -> None:
    watch.switch(offline=True)
    answer = watch.poll()
    assert isinstance(answer, Reloaded)
    assert (answer.config.settings.offline, answer.need_restart) == (True, ())
    path.write_text('[proxy]\nmax_cached_body = "2MiB"\noffline = false\n')
    assert reloaded(watch).config.settings.offline
    watch.switch(offline=False)
    assert isinstance(watch.poll(), Reloaded)
    assert not watch.config.settings.offline
    assert settle(watch) is None


def test_a_file_that_is_touched_and_says_the_same_makes_no_difference(path: Path, watch: ConfigWatch) -> None:
    path.write_text(f"# a comment\n{FIRST}")
    assert settle(watch) is None


def test_changed_users_are_reported_once_though_the_configuration_only_names_their_file(path: Path) -> None:
    users = path.with_name("users")
    users.write_text("ann:one\nbob:two\n")
    path.write_text(FIRST + 'credentials = "users"\n')
    watch = ConfigWatch(path)
    users.write_text("ann:one\n")
    assert reloaded(watch) == Reloaded(watch.config, ())
    users.write_text("ann\n")
    assert "users:1: expected USER:PASSWORD" in refused(watch)
    users.write_text("ann:three\n")
    assert reloaded(watch) == Reloaded(watch.config, ())
    assert settle(watch) is None


def test_a_bad_file_is_refused_once_and_the_old_configuration_stays(path: Path, watch: ConfigWatch) -> None:
    old = watch.config
    path.write_text("[proxy]\nlisen = 1\nkeep = 'long'\n")
    first, second, last = refused(watch).split("\n")
    assert first.startswith(f"{path}:2: [proxy] lisen = 1: ")
    assert second.startswith(f"{path}:3: [proxy] keep = ")
    assert last == "the configuration before this change stays in force"
    assert watch.config is old
    assert [watch.poll() for _ in range(5)] == [None] * 5


def test_a_file_mended_after_a_refusal_is_answered_even_if_it_is_as_before(path: Path, watch: ConfigWatch) -> None:
    path.write_text("[proxy")
    refused(watch)
    path.write_text(FIRST)
    assert reloaded(watch).config == ConfigWatch(path).config


def test_a_missing_file_is_refused_once_until_it_is_back(path: Path, watch: ConfigWatch) -> None:
    path.unlink()
    assert "No such file or directory" in refused(watch)
    assert [watch.poll() for _ in range(5)] == [None] * 5
    path.write_text(FIRST + "offline = true\n")
    assert reloaded(watch).config.settings.offline


def test_an_emptied_file_is_refused(path: Path, watch: ConfigWatch) -> None:
    path.write_text("")
    assert "empty" in refused(watch)
    assert watch.config.settings.max_cached_body == 1 << 20


def test_a_file_replaced_by_another_of_the_same_size_and_time_is_seen(path: Path, watch: ConfigWatch) -> None:
    times = path.stat()
    other = path.with_name("new")
    other.write_text(FIRST.replace("1MiB", "2MiB"))
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(path)
    assert reloaded(watch).config.settings.max_cached_body == 2 << 20


def test_a_file_still_being_written_is_waited_for(path: Path, watch: ConfigWatch) -> None:
    """Each piece alone is a valid file that would have lost the rules."""
    whole = FIRST + "".join(f'[[domain]]\nmatch = "h{n}.org"\n' for n in range(5))
    with path.open("w") as file:
        for line in whole.splitlines(keepends=True):
            file.write(line)
            file.flush()
            assert watch.poll() is None
    answer = watch.poll()
    assert isinstance(answer, Reloaded)
    assert len(answer.config.rules.domains) == 5


def test_a_half_written_file_that_is_left_so_is_refused(path: Path, watch: ConfigWatch) -> None:
    whole = FIRST + '[[domain]]\nmatch = "a.org"\npolicy = "ttl"\n'
    path.write_text(whole[:-3])
    assert "not valid TOML" in refused(watch)
    path.write_text(whole)
    assert len(reloaded(watch).config.rules.domains) == 1


def test_the_files_of_authorities_are_watched(path: Path) -> None:
    """Also those that a change of the configuration adds; one that cannot be read leaves what was read before."""
    end = "-----END CERTIFICATE-----\n"
    one, two = (part + end for part in certifi.contents().split(end)[:2])
    ca_file = path.with_name("ca.pem")
    watch = ConfigWatch(path)
    ca_file.write_text(one)
    path.write_text(f'[default]\norigin_ca = "{ca_file}"\n')
    first = reloaded(watch).config.rules.default.origin_ca
    ca_file.write_text(one + two)
    second = reloaded(watch).config.rules.default.origin_ca
    assert first is not None
    assert second is not None
    assert (first.pem.count("BEGIN"), second.pem.count("BEGIN")) == (1, 2)
    ca_file.touch()
    assert settle(watch) is None
    ca_file.write_text("nothing")
    assert "expected a file of certificates" in refused(watch)
    ca_file.unlink()
    assert "ca.pem" in refused(watch)
    ca_file.write_text(one)
    assert reloaded(watch).config.rules.default.origin_ca == first


def test_the_file_of_feeds_is_watched(path: Path) -> None:
    feeds = path.with_name("feeds.opml")
    feeds.write_text('<opml><outline xmlUrl="http://a.org/feed"/></opml>')
    path.write_text(FIRST + '[prefetch]\nopml = "feeds.opml"\n')
    watch = ConfigWatch(path)
    feeds.write_text('<opml><outline xmlUrl="http://a.org/feed"/><outline xmlUrl="http://b.org/feed"/></opml>')
    assert reloaded(watch).config.prefetch.watched == {"http://a.org/feed", "http://b.org/feed"}
    feeds.write_text("<html>")
    assert "expected an OPML file" in refused(watch)
    assert len(watch.config.prefetch.watched) == 2
