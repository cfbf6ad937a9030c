import grp
import os
import pwd
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from sessiond.config import (
    AgentsConfig,
    BlobsConfig,
    CompactionConfig,
    Config,
    DraftsConfig,
    HistoryConfig,
    InvalidConfigError,
    LimitsConfig,
    ListenConfig,
    RootsConfig,
    StateConfig,
    StoreConfig,
    SummarizerConfig,
    UnsafeConfigError,
    read,
)


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def give_to_a_shared_group(path: str | Path) -> None:
    """Root's own group is a group of one user, so what the group may do is tried with another one."""
    if os.geteuid() == 0:
        os.chown(path, -1, 65_534)


def test_a_missing_file_means_the_defaults(tmp_path: Path) -> None:
    assert read(str(tmp_path / "config.toml")) == Config(
        ListenConfig(idle_exit=1800.0),
        LimitsConfig(max_clients=1_000, max_frame=67_108_864, max_held=268_435_456),
        DraftsConfig(max_age=604_800.0),
        CompactionConfig(
            enabled=False, context_window=200_000, reserve_tokens=16_384, keep_recent_tokens=20_000
        ),
        SummarizerConfig(command=None, timeout=300.0),
        StateConfig(max_decisions=10, max_tokens=150_000),
        BlobsConfig(grace=604_800.0),
        RootsConfig(folders=()),
        HistoryConfig(enabled=True),
    )


def test_a_written_value_replaces_a_default_and_leaves_the_others(tmp_path: Path) -> None:
    assert read(written(tmp_path, '[listen]\nidle_exit = "45s"\n')) == Config(
        listen=ListenConfig(idle_exit=45.0)
    )


def test_a_command_is_a_list_of_words(tmp_path: Path) -> None:
    chosen = read(written(tmp_path, '[summarizer]\ncommand = ["llm", "-m", "small"]\ntimeout = "90s"\n'))
    assert chosen.summarizer == SummarizerConfig(command=("llm", "-m", "small"), timeout=90.0)


def test_sizes_of_a_compaction_are_whole_numbers_of_tokens(tmp_path: Path) -> None:
    text = "[compaction]\nenabled = true\ncontext_window = 32_000\nreserve_tokens = 0\n"
    assert read(written(tmp_path, text)).compaction == CompactionConfig(
        enabled=True, context_window=32_000, reserve_tokens=0
    )


def test_folder_maps_are_pairs_of_absolute_folders_by_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    text = '[sync.maps]\ndevbox = ["~/work=/srv/work", "/a=/b"]\n"*" = ["/c=/d"]\n'
    assert read(written(tmp_path, text)).sync.maps == {
        "devbox": (("/home/ada/work", "/srv/work"), ("/a", "/b")), "*": (("/c", "/d"),)
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        '[sync]\nmaps = "/a=/b"\n', '[sync.maps]\ndevbox = "/a=/b"\n', '[sync.maps]\ndevbox = ["a=/b"]\n',
        '[sync.maps]\ndevbox = ["/a"]\n', '[sync.maps]\ndevbox = [3]\n', '[sync]\nmap = {}\n',
    ],
)  # fmt: skip
def test_other_folder_maps_are_refused_by_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidConfigError, match=r"sync|map"):
        read(written(tmp_path, text))


@pytest.mark.parametrize(
    "url",
    [
        "files:",
        "memory:",
        "postgres://me@db.example/sessions",
        "postgresql:///sessions?host=/run/postgresql&port=5433",
        "postgres://a:5432,b:5433/sessions?target_session_attrs=read-write&sslmode=verify-full",
        "postgres://me@[::1]:5432/sessions",
    ],
)
def test_a_store_is_named_by_a_url(url: str, tmp_path: Path) -> None:
    assert read(written(tmp_path, f'[store]\nurl = "{url}"\n')).store == StoreConfig(url)


@pytest.mark.parametrize(
    "url",
    [
        "", "file:", "files:/srv", "mysql://h/d", "postgres://me@h:port/d", "postgres://me@[::1/d", "postgres://h/d?ssl=1",
        "postgres://me:hunter2@h/d", "postgres://me:hunter2/x@h/d", "postgres://me:hunter2?x@h/d",
        "postgres://me:hunter2#x@h/d", "postgres://me:hunter2@x@h/d", "postgres:///d?password=hunter2",
        "postgres:///d?user=me&sslpassword=hunter2", "postgres://me%3Ahunter2:@h/d", "postgres://me@h:hunter2/d",
    ],
)  # fmt: skip
def test_a_url_that_is_not_usable_is_refused_and_no_password_in_it_is_shown(url: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidConfigError) as raised:
        read(written(tmp_path, f'[store]\nurl = "{url}"\n'))
    assert "hunter2" not in str(raised.value)


def test_folders_of_files_do_not_go_with_a_database(tmp_path: Path) -> None:
    text = '[store]\nurl = "postgres:///d"\n[roots]\nfolders = ["/srv"]\n'
    with pytest.raises(InvalidConfigError):
        read(written(tmp_path, text))


def test_never_is_a_length_of_time(tmp_path: Path) -> None:
    assert read(written(tmp_path, '[drafts]\nmax_age = "never"\n')).drafts.max_age is None


def test_blobs_that_nobody_names_may_stay_for_ever(tmp_path: Path) -> None:
    assert read(written(tmp_path, '[blobs]\ngrace = "never"\n')).blobs == BlobsConfig(grace=None)


@given(st.integers(1, 999_999_999), st.sampled_from([("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)]))
def test_lengths_of_time_have_one_of_four_units(
    tmp_path_factory: pytest.TempPathFactory, n: int, unit: tuple[str, int]
) -> None:
    path = written(tmp_path_factory.getbasetemp(), f'[drafts]\nmax_age = "{n}{unit[0]}"\n')
    assert read(path).drafts.max_age == n * unit[1]


@pytest.mark.parametrize(
    "text",
    [
        "[listen\n",
        "[liste]\n",
        "[listen]\nidle_exitt = '1m'\n",
        "listen = 3\n",
        "[listen]\nidle_exit = 30\n",
        "[listen]\nidle_exit = '0m'\n",
        "[listen]\nidle_exit = 'soon'\n",
        "[drafts]\nmax_age = ['7d']\n",
        "[compaction]\nenabled = 1\n",
        "[compaction]\nenabled = 'yes'\n",
        "[compaction]\ncontext_window = '200k'\n",
        "[compaction]\ncontext_window = true\n",
        "[compaction]\ncontext_window = -1\n",
        "[compaction]\ncontext_window = 36384\n",
        "[compaction]\nkeep_recent_tokens = 200000\n",
        "[summarizer]\ncommand = 'llm -m small'\n",
        "[summarizer]\ncommand = []\n",
        "[summarizer]\ncommand = ['']\n",
        "[summarizer]\ncommand = ['llm', 3]\n",
        "[summarizer]\ncommand = ['llm', \"a\\u0000b\"]\n",
        "[summarizer]\ntimeout = 30\n",
        "[state]\nmax_decisions = 0\n",
        "[state]\nmax_decisions = 11\n",
        "[state]\nmax_decisions = true\n",
        "[state]\nmax_tokens = '150k'\n",
    ],
)
def test_anything_else_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidConfigError):
        read(written(tmp_path, text))


def test_an_unreadable_file_is_an_error_and_not_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidConfigError):
        read(str(tmp_path / "config.toml"))


def test_a_misspelt_key_is_answered_with_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfigError) as refused:
        read(written(tmp_path, "[listen]\nidle_exitt = '1m'\n"))
    assert "idle_exit is probably meant" in str(refused.value)


def test_further_folders_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    chosen = read(written(tmp_path, '[roots]\nfolders = ["~/.pi/agent/sessions", "/srv/sessions"]\n'))
    assert chosen == Config(roots=RootsConfig(folders=("/home/ada/.pi/agent/sessions", "/srv/sessions")))


@pytest.mark.parametrize("value", ['"~/.pi"', '["sessions"]', '["/a", 1]', '["/a\\u0000b"]'])
def test_a_value_that_names_no_folders_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(InvalidConfigError):
        read(written(tmp_path, f"[roots]\nfolders = {value}\n"))


@pytest.mark.parametrize("mode", [0o622, 0o602, 0o666])
def test_a_file_that_others_may_write_is_not_obeyed(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path, '[summarizer]\ncommand = ["true"]\n')
    Path(path).chmod(mode)
    give_to_a_shared_group(path)
    with pytest.raises(UnsafeConfigError, match=re.escape(path)):
        read(path)


@pytest.mark.parametrize("mode", [0o722, 0o777])
def test_a_file_in_a_folder_that_others_may_write_to_is_not_obeyed(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path, "[listen]\n")
    give_to_a_shared_group(tmp_path)
    tmp_path.chmod(mode)
    with pytest.raises(UnsafeConfigError, match=re.escape(str(tmp_path))):
        read(path)


def test_a_link_is_obeyed_only_when_both_folders_are_closed_to_others(tmp_path: Path) -> None:
    (kept := tmp_path / "dotfiles").mkdir(mode=0o700)
    (config := tmp_path / "config").mkdir(mode=0o700)
    (config / "config.toml").symlink_to(written(kept, '[listen]\nidle_exit = "1m"\n'))
    assert read(str(config / "config.toml")).listen.idle_exit == 60.0
    kept.chmod(0o777)
    with pytest.raises(UnsafeConfigError):
        read(str(config / "config.toml"))


def test_a_folder_with_the_sticky_bit_is_closed_enough(tmp_path: Path) -> None:
    path = written(tmp_path, '[listen]\nidle_exit = "1m"\n')
    tmp_path.chmod(0o1777)
    assert read(path).listen.idle_exit == 60.0


def test_a_group_of_the_user_alone_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, '[listen]\nidle_exit = "1m"\n')
    Path(path).chmod(0o664)
    user, group = pwd.getpwuid(os.geteuid()), os.stat(path).st_gid  # noqa: PTH116
    alone = pwd.struct_passwd((user.pw_name, "x", user.pw_uid, group, "", "/", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: alone)
    monkeypatch.setattr(grp, "getgrgid", lambda _: grp.struct_group((user.pw_name, "x", group, [])))
    assert read(path).listen.idle_exit == 60.0
    monkeypatch.setattr(grp, "getgrgid", lambda _: grp.struct_group((user.pw_name, "x", group, ["eve"])))
    with pytest.raises(UnsafeConfigError):
        read(path)


@pytest.mark.system
def test_a_file_of_another_user_is_not_obeyed(tmp_path: Path) -> None:
    path = written(tmp_path, "[listen]\n")
    os.chown(path, 65_534, -1)
    with pytest.raises(UnsafeConfigError, match="65534"):
        read(path)


def test_followed_agents_are_a_list_of_names(tmp_path: Path) -> None:
    text = '[agents]\nfollow = ["claude-code", "codex"]\n'
    assert read(written(tmp_path, text)).agents == AgentsConfig(follow=("claude-code", "codex"))
    assert read(written(tmp_path, "[agents]\nfollow = []\n")).agents == AgentsConfig()
    assert read(written(tmp_path, "[agents]\nsession_start_note = true\n")).agents.session_start_note
    for wrong in ('"codex"', "[1]"):
        with pytest.raises(InvalidConfigError):
            read(written(tmp_path, f"[agents]\nfollow = {wrong}\n"))


def test_a_setting_that_is_gone_is_named_and_harms_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path, '[blobs]\nimages = true\ngrace = "1d"\n')
    assert read(path).blobs == BlobsConfig(grace=86_400.0)
    assert "[blobs] images" in caplog.text
