"""A fitted model in a file that runs nothing when it is read.

The file is what skops writes, a zip archive, with one more member: ``rboost.json`` says what it was
made with and for. The comment of the archive, which ends the file, holds the number of the format
and the SHA-256 of every byte before the digest. Both are checked before anything is unpacked.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

from rboost.audit.disk.model_types import TRUSTED_LOADERS, TRUSTED_TYPES
from rboost.audit.disk.tree_checks import check_trees
from rboost.audit.disk.without_training import without_training
from rboost.files import atomic_path, open_to_read
from rboost.packages import package

About = dict[str, Any]

# Goes up with every change after which files that were made before cannot be read as they are: of
# what is in the file, and of the attributes of the classes that its models consist of.
FORMAT = 7
CARD = "rboost.json"
SCHEMA = "schema.json"
# Packages whose other versions may read the same file in another way.
PACKAGES = ("scikit-learn", "skrub")
# Far more than the largest models have; beyond, a small file could fill the memory.
MOST_BYTES = 2 * 2**30
MOST_MEMBERS = 500_000
SEAL = re.compile(rb"rboost model, format ([0-9]{1,9}), SHA-256 ([0-9a-f]{64})\Z")
DIGEST_LENGTH = 64
AGAIN = "run rboost audit again to make a new one"


class _RefusedError(ValueError):
    """What a file holds is not loaded; says why in one sentence."""


def save_model(model: Any, path: Path, about: About) -> None:
    """Write a fitted estimator, without what only its training needed, or leave the file as it was.

    ``about`` is what to know of the model, in terms of JSON: ``load_model`` gives it back.
    """
    skops_io = package("skops.io")
    with atomic_path(path) as temporary:
        skops_io.dump(
            without_training(model), temporary, compression=zipfile.ZIP_DEFLATED, compresslevel=1
        )
        with zipfile.ZipFile(temporary, "a", zipfile.ZIP_DEFLATED) as archive:
            _check_schema(archive.read(SCHEMA), path)
            versions = {"rboost": metadata.version("rboost"), **_versions()}
            archive.writestr(CARD, json.dumps({"versions": versions, "about": about}, indent=1))
        refused = _untrusted(skops_io.get_untrusted_types(file=temporary))
        if refused:  # rather now than when the model is needed
            raise _RefusedError(_refusal(path, refused))
        seal(temporary)


def seal(path: Path, number: int = FORMAT) -> None:
    """End an archive with the number of its format and the digest of all bytes before that."""
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = f"rboost model, format {number}, SHA-256 {'0' * DIGEST_LENGTH}".encode()
    with path.open("rb+") as file:
        content = file.read()[:-DIGEST_LENGTH]
        file.seek(len(content))
        file.write(hashlib.sha256(content).hexdigest().encode())


def load_model(path: Path) -> tuple[Any, About]:
    """Read a model that :func:`save_model` wrote, and what was said about it.

    Nothing but what the project trusts is loaded, and nothing else is run. Each file that is not
    such a model, or in which a byte was changed, is refused in one sentence.
    """
    content = _sealed_content(path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_members(archive, len(content), path)
            card = json.loads(archive.read(CARD))
            _check_versions(card["versions"], path)
            about = dict(card["about"])
            _check_schema(archive.read(SCHEMA), path)
        model = _loaded(content, path)
    except _RefusedError:
        raise
    except Exception as error:  # a file made by hand, digest and all, can fail anywhere in there
        raise _RefusedError(f"{path} holds no model that can be restored; {AGAIN}.") from error
    if not hasattr(model, "predict_proba"):
        raise _RefusedError(f"{path} holds no classifier but {type(model).__name__}; {AGAIN}.")
    check_trees(model)
    return model, about


def _sealed_content(path: Path) -> bytes:
    """The bytes of a file that nobody changed, read once: what is checked is what is loaded."""
    with open_to_read(path) as file:
        content = file.read(MOST_BYTES + 1)
    found = SEAL.search(content[-200:])
    if found is None:
        raise ValueError(f"{path} is no model file of rboost, or a part of one; {AGAIN}.")
    if hashlib.sha256(memoryview(content)[:-DIGEST_LENGTH]).hexdigest().encode() != found[2]:
        raise ValueError(f"{path} was changed or damaged since it was made; {AGAIN}.")
    check_format(int(found[1]), FORMAT, path)
    return content


def check_format(found: int, known: int, path: Path) -> None:
    """Refuse a file of another format, newer or older, with one sentence."""
    if found > known:
        raise ValueError(
            f"{path} was made by a newer rboost (its format is {found}, this one reads {known}); "
            "update it with: pip install --upgrade rboost"
        )
    if found < known:
        raise ValueError(
            f"{path} was made by an older rboost (its format is {found}, this one reads {known}); "
            f"{AGAIN}."
        )


def _check_members(archive: zipfile.ZipFile, size: int, path: Path) -> None:
    members = archive.infolist()
    size += sum(member.file_size for member in members)
    if size > MOST_BYTES or len(members) > MOST_MEMBERS:
        raise _RefusedError(
            f"{path} would take {size / 2**30:.0f} GB of memory, more than any model of rboost; "
            f"{AGAIN}."
        )
    if len({member.filename for member in members}) < len(members):
        raise _RefusedError(f"{path} holds two parts of the same name; {AGAIN}.")


def _loaded(content: bytes, path: Path) -> Any:
    skops_io, exceptions = package("skops.io"), package("skops.io.exceptions")
    try:
        return skops_io.loads(content, trusted=list(TRUSTED_TYPES))
    except exceptions.UntrustedTypesFoundException as error:
        refused = _untrusted(skops_io.get_untrusted_types(data=content))
        raise _RefusedError(_refusal(path, refused)) from error


def _check_schema(schema: bytes, path: Path) -> None:
    """Refuse ways of making objects that no model of ours needs, and those of an older skops."""
    from skops.io._protocol import PROTOCOL

    refused = set()
    protocol = None

    def note(part: dict[str, Any]) -> None:
        nonlocal protocol
        protocol = part.get("protocol")  # inner parts are noted first, the whole schema last
        loader = part.get("__loader__")
        if loader is not None and loader not in TRUSTED_LOADERS:
            refused.add(f"{part.get('__module__')}.{part.get('__class__')} by {loader}")

    json.loads(schema, object_hook=note)
    if protocol != PROTOCOL:
        raise _RefusedError(
            f"{path} was written by another version of skops (protocol {protocol!r}, here "
            f"{PROTOCOL}); {AGAIN}."
        )
    if refused:
        raise _RefusedError(_refusal(path, sorted(refused)))


def _untrusted(names: list[str]) -> list[str]:
    return [name for name in names if name not in TRUSTED_TYPES]


def _refusal(path: Path, refused: list[str]) -> str:
    listed = ", ".join(refused[:5]) + (", …" if len(refused) > 5 else "")
    return (
        f"The model in {path} needs {listed}, which rboost does not trust; make it with rboost "
        "audit, of parts that rboost knows."
    )


def _check_versions(made: dict[str, str], path: Path) -> None:
    here = _versions()
    differing = [name for name in PACKAGES if made.get(name) != here.get(name)]
    if differing:
        then = " and ".join(f"{name} {made.get(name)}" for name in differing)
        now = " and ".join(f"{name} {here.get(name)}" for name in differing)
        wanted = " ".join(f'"{name}=={made.get(name)}"' for name in differing)
        raise _RefusedError(
            f"{path} was made with {then}, but this is {now}; run rboost audit again, or install "
            f"what it was made with: pip install {wanted}."
        )


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
