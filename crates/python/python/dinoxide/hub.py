"""Arguments of `from_pretrained` and `save_pretrained` about the hub: where files are, and what is not done.

Models, configs and processors take the same ones.
"""

from __future__ import annotations

import os
from typing import Any

from .checks import checked_text

# What decides where the files are.
SOURCE = ("revision", "subfolder", "cache_dir", "local_files_only", "token")
# What Transformers takes beside, without effect: the engine has its own client, and runs no code of a
# checkpoint.
WITHOUT_EFFECT = (
    "proxies",
    "resume_download",
    "user_agent",
    "trust_remote_code",
    "code_revision",
    "_from_auto",
    "_from_pipeline",
)


def hub_options(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Takes the arguments that say where files are out of `kwargs`, and gives the engine's options for them.

    Raises `ValueError` for `force_download`: what the cache has is not downloaded again.
    """
    if kwargs.pop("force_download", False):
        raise ValueError("`force_download` is not supported: remove the checkpoint from the cache first")
    for name in WITHOUT_EFFECT:
        kwargs.pop(name, None)
    given = {name: kwargs.pop(name, None) for name in SOURCE}
    options = {name: value for name, value in given.items() if value not in (None, "")}
    for name in ("revision", "subfolder"):
        checked_text(options.get(name), name)
    if not isinstance(options.get("token"), bool):
        checked_text(options.get("token"), "token")
    options["local_files_only"] = bool(options.get("local_files_only", False))
    if "cache_dir" in options:
        options["cache_dir"] = os.fsdecode(options["cache_dir"])
    options["seed"] = 0
    return options


def refuse_upload(kwargs: dict[str, Any]) -> None:
    """Takes `push_to_hub` out of `kwargs`; a `ValueError` where it is asked for."""
    if kwargs.pop("push_to_hub", False):
        raise ValueError("`push_to_hub` is not supported: save to a folder, and upload it with `hf upload`")
