"""What is made before a command starts: its folders, its workspace, the folder it starts in."""

from __future__ import annotations

import os
from collections.abc import Callable

from signoff.sandbox.supervisor.copying import Copied, copy_tree
from signoff.sandbox.supervisor.launch import Launch, NotStarted

__all__ = ["copy_workspace", "make_folders", "place_of"]


def make_folders(launch: Launch) -> None:
    """Makes the command's own folders for temporary files, where they are not left as new."""
    for folder in (launch.folder, launch.home, launch.temporary):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            continue


def copy_workspace(launch: Launch, workspace: str, tick: Callable[[], object]) -> int:
    """
    Makes the private copy in which the command works; says how many bytes it takes.

    Args:
        launch: What is about to be started.
        workspace: The folder that the work was done in.
        tick: Called often; raises to end the copying.
    """
    target = f"{launch.folder}/workspace"
    copied = Copied(tick, launch.request["limits"]["disk_bytes"])
    copy_tree(workspace, target, copied)
    launch.workspace = target
    launch.missing += copied.missing()
    return copied.occupied


def place_of(launch: Launch) -> str:
    """
    The folder to start in, which must lie in the workspace, also when links are followed.

    Raises:
        NotStarted: There is no such folder.
    """
    root, cwd = launch.workspace, str(launch.request["cwd"])
    if root is None:
        if cwd:
            raise NotStarted("cwd_missing", f"there is no folder {cwd!r:.200} without a workspace")
        return launch.home
    root = os.path.realpath(root)
    found = os.path.realpath(f"{root}/{cwd}")
    if cwd.startswith("/") or os.path.commonpath((root, found)) != root:
        raise NotStarted("cwd_missing", f"folder {cwd!r:.200} is outside the workspace")
    if not os.path.isdir(found):
        raise NotStarted("cwd_missing", f"there is no folder {cwd!r:.200} in the workspace")
    return found
