"""SHA-256 and BLAKE2b of short texts, from the interpreter itself.

`hashlib` has the same, but loads OpenSSL first, which takes a fifth of the CPU time of a start of Python. OpenSSL is faster for
megabytes, for which this module is not meant.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import blake2b, sha256
else:
    try:
        from _blake2 import blake2b

        if sys.version_info >= (3, 12):
            from _sha2 import sha256
        else:
            from _sha256 import sha256
    except ImportError:  # an interpreter without these modules of C
        from hashlib import blake2b, sha256

__all__ = ["blake2b", "sha256"]
