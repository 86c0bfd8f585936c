"""A fitted model in a file that runs nothing when it is read.

The file is what skops writes, a zip archive, with one more member: ``rboost.json`` says who made
it, for what, and the digest of all else. That member can be read without loading the model.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
import zipfile
import zlib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import rboost
from rboost.audit.disk.lean import lean
from rboost.audit.disk.tree_checks import check_trees
from rboost.audit.disk.trusted import TRUSTED_LOADERS, TRUSTED_TYPES
from rboost.io.files import atomic_path, open_to_read

About = dict[str, Any]

FORMAT = 1
CARD = "rboost.json"
SCHEMA = "schema.json"
# Packages whose other versions may read the same file in another way.
PACKAGES = ("rboost", "scikit-learn", "skrub")
# Far more than the largest models have; beyond, a small file could fill the memory.
MOST_BYTES = 2 * 2**30
MOST_MEMBERS = 500_000
# How a damaged archive, and JSON that is damaged or nested without end, make themselves felt.
DAMAGES = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    OSError,
    RuntimeError,
    json.JSONDecodeError,
    UnicodeDecodeError,
)
AGAIN = "run rboost audit again to make a new one"


def save_model(model: Any, path: Path, about: About) -> None:
    """Write a fitted model, or leave the file as it was.

    Parameters
    ----------
    model : estimator
        A fitted scikit-learn estimator, without what only its training needed once loaded.
    path : Path
        Where to write; by convention the name ends in ``.skops``.
    about : dict
        What to know of the model, in terms of JSON: ``load_model`` gives it back.
    """
    skops_io = _skops_io()
    with atomic_path(path) as temporary:
        skops_io.dump(lean(model), temporary, compression=zipfile.ZIP_DEFLATED, compresslevel=1)
        with zipfile.ZipFile(temporary, "a", zipfile.ZIP_DEFLATED) as archive:
            _check_schema(archive.read(SCHEMA), path)
            card: About = {"format": FORMAT, "versions": _versions(), "about": about}
            card["digest"] = _digest(archive, card)
            archive.writestr(CARD, json.dumps(card, indent=1))
        refused = _untrusted(skops_io.get_untrusted_types(file=temporary))
        if refused:  # rather now than when the model is needed
            raise ValueError(_refusal(path, refused))


def load_model(path: Path) -> tuple[Any, About]:
    """Read a model that :func:`save_model` wrote, and what was said about it.

    Nothing but what the project trusts is loaded, and nothing else is run. Each file that is not
    such a model, or not of these versions, is refused in one sentence.
    """
    with _opened(path) as archive:
        card = _card(archive, path)
        _check_versions(card, path)
        with _damage_named(path):
            digest = _digest(archive, card)
        if digest != card.get("digest"):
            raise ValueError(f"{path} was changed or damaged since it was made; {AGAIN}.")
        return _loaded(archive, path), card["about"]


def _loaded(archive: zipfile.ZipFile, path: Path) -> Any:
    skops_io = _skops_io()
    with _damage_named(path):
        _check_schema(archive.read(SCHEMA), path)
    file: Any = archive.fp
    content = file.getvalue()
    try:
        model = skops_io.loads(content, trusted=list(TRUSTED_TYPES))
    except skops_io.exceptions.UntrustedTypesFoundException as error:
        refused = _untrusted(skops_io.get_untrusted_types(data=content))
        raise ValueError(_refusal(path, refused)) from error
    except Exception as error:  # a file made by hand can fail anywhere in there
        raise ValueError(f"{path} holds no model that can be restored; {AGAIN}.") from error
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"{path} holds no classifier but {type(model).__name__}; {AGAIN}.")
    check_trees(model)
    return model


def _check_schema(schema: bytes, path: Path) -> None:
    """Refuse ways of making objects that no model of ours needs, and those of an older skops."""
    from skops.io._protocol import PROTOCOL

    refused = set()
    protocol = None

    def note(part: dict[str, Any]) -> None:
        nonlocal protocol
        protocol = part.get("protocol")  # the last part to be noted is the whole
        loader = part.get("__loader__")
        if loader is not None and loader not in TRUSTED_LOADERS:
            refused.add(f"{part.get('__module__')}.{part.get('__class__')} by {loader}")

    json.loads(schema, object_hook=note)
    if protocol != PROTOCOL:
        raise ValueError(
            f"{path} was written by another version of skops (protocol {protocol!r}, here "
            f"{PROTOCOL}); {AGAIN}."
        )
    if refused:
        raise ValueError(_refusal(path, sorted(refused)))


def _untrusted(names: list[str]) -> list[str]:
    return [name for name in names if name not in TRUSTED_TYPES]


def _refusal(path: Path, refused: list[str]) -> str:
    listed = ", ".join(refused[:5]) + (", …" if len(refused) > 5 else "")
    return (
        f"The model in {path} needs {listed}, which rboost does not trust; make it with rboost "
        "audit, of parts that rboost knows."
    )


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive, read into memory at once, so that what is checked is what is loaded."""
    with open_to_read(path) as file:
        content = file.read(MOST_BYTES + 1)
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError) as error:
        raise ValueError(
            f"{path} is no model file of rboost, or only a part of one; {AGAIN}."
        ) from error
    with archive:
        members = archive.infolist()
        size = len(content) + sum(member.file_size for member in members)
        if size > MOST_BYTES or len(members) > MOST_MEMBERS:
            raise ValueError(
                f"{path} would take {size / 2**30:.0f} GB of memory, more than any model of "
                f"rboost; {AGAIN}."
            )
        if len({member.filename for member in members}) < len(members):
            raise ValueError(f"{path} holds two parts of the same name; {AGAIN}.")
        yield archive


@contextlib.contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    try:
        yield
    except DAMAGES as error:
        raise ValueError(f"{path} is damaged; {AGAIN}.") from error


def _card(archive: zipfile.ZipFile, path: Path) -> About:
    """What the file says of itself."""
    if CARD not in archive.namelist():
        raise ValueError(f"{path} was not made by rboost; {AGAIN}.")
    with _damage_named(path):
        card = json.loads(archive.read(CARD))
    is_card = isinstance(card, dict) and isinstance(card.get("about"), dict)
    if not is_card or not isinstance(card.get("versions"), dict):
        raise ValueError(f"{path} is damaged; {AGAIN}.")
    return card


def _check_versions(card: About, path: Path) -> None:
    made, here = card["versions"], _versions()
    differing = [name for name in PACKAGES if made.get(name) != here[name]]
    if card.get("format") != FORMAT:
        raise ValueError(
            f"{path} has format {card.get('format')!r}, made by rboost {made.get('rboost')}, and "
            f"this is rboost {here['rboost']}, which reads format {FORMAT}; {AGAIN}."
        )
    if differing:
        then = " and ".join(f"{name} {made.get(name)}" for name in differing)
        now = " and ".join(f"{name} {here[name]}" for name in differing)
        wanted = " ".join(f'"{name}=={made.get(name)}"' for name in differing)
        raise ValueError(
            f"{path} was made with {then}, but this is {now}; run rboost audit again, or install "
            f"what it was made with: pip install {wanted}."
        )


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for name in PACKAGES:
        try:
            found[name] = rboost.__version__ if name == "rboost" else metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def _digest(archive: zipfile.ZipFile, card: About) -> str:
    """SHA-256 of the card without the digest, and of the names and contents of all else."""
    described = {name: value for name, value in card.items() if name != "digest"}
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for name in sorted(set(archive.namelist()) - {CARD}):
        digest.update(hashlib.sha256(name.encode()).digest())
        digest.update(hashlib.sha256(archive.read(name)).digest())
    return digest.hexdigest()


def _skops_io() -> Any:
    try:
        import skops.io
        import skops.io.exceptions
    except ImportError as error:
        raise ImportError(
            'Model files need skops; install it with: pip install "rboost[audit]".'
        ) from error
    return skops.io
