"""Checkpoints: published whole, listed, verified, chosen, kept, copied, mirrored.

Everything here needs the standard library alone. The folder's form is in `manifests`, moving and
copying in `publishing` and `copying`, temporary folders in `leftovers`, the rule of what is kept in
`retention`, what a folder or a store can do in `places`, where a run goes on from in `choosing`,
the background copy in `mirror`.
"""

from tinyllm.checkpoints.choosing import (
    Choice,
    bring_down,
    choose,
    prune,
    set_aside_earlier,
    set_aside_newer,
)
from tinyllm.checkpoints.copying import folders_overlap
from tinyllm.checkpoints.leftovers import discard_holder, staging_folder
from tinyllm.checkpoints.manifests import Checkpoint, list_checkpoints, verify
from tinyllm.checkpoints.places import FolderPlace, Held, Place
from tinyllm.checkpoints.publishing import (
    copy_checkpoint,
    copy_files_verified,
    delete_checkpoint,
    publish,
    set_aside,
)
from tinyllm.checkpoints.retention import Keep, ordinal_of, retained

__all__ = [
    "Checkpoint",
    "Choice",
    "FolderPlace",
    "Held",
    "Keep",
    "Place",
    "bring_down",
    "choose",
    "copy_checkpoint",
    "copy_files_verified",
    "delete_checkpoint",
    "discard_holder",
    "folders_overlap",
    "list_checkpoints",
    "ordinal_of",
    "prune",
    "publish",
    "retained",
    "set_aside",
    "set_aside_earlier",
    "set_aside_newer",
    "staging_folder",
    "verify",
]
