"""What kind of file system a directory is on."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = (
    "9p afs beegfs ceph cifs drvfs fakeowner fuse.glusterfs fuse.grpcfuse fuse.sshfs fuse.vmhgfs-fuse gfs2 glusterfs gpfs lustre "
    "ncpfs nfs nfs4 ocfs2 prl_fs smb3 smbfs vboxsf virtiofs vmhgfs"
)
NETWORK = frozenset(_NETWORK.split())
"""File systems that other machines write too, or that share no memory maps with them: the write-ahead log is not safe there, and
what the others write gives no event."""


@cache
def is_on_network(directory: Path) -> bool:
    """Whether a directory is on a network file system. False where the system does not say so, as on macOS."""
    try:
        lines = MOUNTS.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return False
    place, best = os.path.realpath(directory), ("", "")
    for line in lines:
        mount, _, kind = line.partition(" - ")
        root = mount.split(" ")[4]
        if "\\" in root:
            root = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), root)
        if len(root) >= len(best[0]) and f"{place}/".startswith(f"{root.rstrip('/')}/"):
            best = root, kind.split(" ")[0]
    return best[1] in NETWORK
