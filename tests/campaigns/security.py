"""Every attack that SECURITY.md names, tried on a daemon of its own."""

from collections.abc import Callable
from typing import Final

from campaigns.attacks import content, names, page, patterns, peers, surroundings, users
from campaigns.campaign import Broken, Campaign, Figures, Ground
from campaigns.daemons import Home, end_all_in

Attack = Callable[[Ground, Home], None]

ATTACKS: Final[tuple[Attack, ...]] = (
    users.knocks_at_the_socket,
    users.reads_files,
    users.listens_in_our_place,
    users.everything_made_is_for_its_owner_only,
    names.links_in_the_place_of_folders,
    names.folders_that_others_may_write_to,
    names.links_in_the_place_of_files,
    names.a_second_name_of_the_lock,
    names.links_among_sessions_and_blobs,
    names.ids_that_are_paths,
    names.exports_over_our_own_files,
    names.imports_of_what_is_no_file,
    content.deep_and_huge_values_in_requests,
    content.files_that_are_larger_than_they_look,
    content.text_that_terminals_obey,
    content.text_that_markdown_obeys,
    content.secrets_in_the_log,
    content.lines_that_forge_the_log,
    peers.wrong_peers_of_sync,
    surroundings.variables_code_and_descriptors_of_the_starter,
    surroundings.sockets_to_the_world,
    surroundings.knocks_at_the_tcp_listener,
    surroundings.half_open_connections_at_the_tcp_listener,
    page.waits_at_another_port_for_the_cookie,
    page.requests_of_other_sites,
    patterns.texts_that_make_matching_slow,
)


def attack(ground: Ground) -> Figures:
    for number, attempt in enumerate(ATTACKS):
        name = attempt.__name__.replace("_", " ")
        home = Home(ground.folder / f"h{number}")
        home.folder.mkdir(mode=0o700)
        try:
            attempt(ground, home)
        except Broken as broken:
            raise Broken(f"{name}: {broken}") from broken
        finally:
            end_all_in(home.folder)
        ground.progress(name)
    return Figures(rounds=1, faults=len(ATTACKS), more=f"{len(ATTACKS)} attacks, each on a daemon of its own")


CAMPAIGN = Campaign(
    name="security",
    promise="Nobody else reads, writes or stops anything, and nothing that is read does more than to be read.",
    how="another user connects, listens in the daemon's place and reads files; links and foreign folders stand in the "
    "place of ours; ids are paths; content is too deep, too large, or meant for terminals, Markdown and logs; the "
    "other side of a sync answers wrongly, slowly or not at all; whoever starts the daemon has secrets and traps "
    "around; other ports and sites ask for the page of `sessiond view`; texts are made to "
    "keep regular expressions busy",
    run=attack,
)
