"""Which parts of the system a command may read: what programs need, and nothing that is private."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

__all__ = ["CPUS", "DEVICES", "FOLDERS", "copy_settings", "make_places", "name_service", "settings"]

FOLDERS: Final = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"),
    *("/nix/store", "/gnu/store"),
)
CPUS: Final = "/sys/devices/system/cpu"
DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# Parts of /etc, as patterns; what is not named, such as keys and passwords, is not there.
SETTINGS: Final = (
    *("alternatives", "debian_version", "fonts", "gai.conf", "group", "host.conf", "hosts"),
    *("inputrc", "java-*", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld-musl-*", "localtime"),
    *("locale.alias", "locale.conf", "magic", "magic.mime", "mime.types", "networks"),
    *("nsswitch.conf", "os-release", "passwd", "perl", "protocols", "python3*", "services"),
    *("shells", "terminfo", "timezone"),
)
# What finding a name on the network and trusting who answers need besides.
NAME_SERVICE: Final = (
    *("/etc/resolv.conf", "/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem"),
    *(
        "/etc/ssl/openssl.cnf",
        "/etc/ca-certificates",
        "/etc/pki/tls/certs",
        "/etc/pki/tls/cert.pem",
    ),
    *("/etc/pki/ca-trust/extracted", "/etc/crypto-policies"),
)
FOR_ALL: Final = 0o004
MAX_SETTING_BYTES: Final = 16 * 2**20


def settings() -> Iterator[Path]:
    """The parts of ``/etc`` that are there and may be read."""
    for pattern in SETTINGS:
        for path in sorted(Path("/etc").glob(pattern)):
            if os.access(path, os.R_OK):
                yield path


def name_service() -> Iterator[Path]:
    """What the network needs, where it is there."""
    return (path for path in map(Path, NAME_SERVICE) if os.access(path, os.R_OK))


def copy_settings(folder: Path) -> None:
    """Makes a folder that can stand for ``/etc``: a copy is one mount, not thirty."""
    folder.mkdir(mode=0o755)
    for path in settings():
        _copy(path, folder / path.name)
    make_places(folder, name_service())


def make_places(folder: Path, paths: Iterable[Path]) -> None:
    """Makes what paths of the real ``/etc`` can be mounted over."""
    for path in paths:
        target = folder / path.relative_to("/etc")
        if os.path.isdir(path):
            target.mkdir(parents=True, exist_ok=True)
        elif not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()


def _copy(source: Path, target: Path) -> None:
    """Copies what everybody may read; root could read more."""
    try:
        if source.is_symlink():
            target.symlink_to(source.readlink())
        elif not source.stat().st_mode & FOR_ALL:
            return
        elif source.is_dir():
            target.mkdir(mode=0o755)
            for path in source.iterdir():
                _copy(path, target / path.name)
        elif source.is_file() and source.stat().st_size <= MAX_SETTING_BYTES:
            shutil.copyfile(source, target)
    except OSError:
        return  # what may not be read is not there
