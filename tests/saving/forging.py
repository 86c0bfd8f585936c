"""Model files taken apart, changed and given a new checksum, as one who knows the format might."""

import copy
import json
from pathlib import Path

import numpy as np

from rboost.saving.file import CHECKSUM_LENGTH, FORMAT, MAGIC, NUMBERS, read_content, with_checksum
from rboost.saving.schema import DTYPES

START = len(MAGIC) + NUMBERS.size + CHECKSUM_LENGTH
# What may stand in the place of any value of the document.
ODD = (None, True, -1, 0, 1, 3, 2**31, 2**60, 10**400, 0.5, -1e300, float("nan"), float("inf"), "",
       "x", "number", [], [1], {}, {"array": 0}, {"is": "rboost"})  # fmt: skip


class Forged:
    """The document and the arrays of a file."""

    def __init__(self, content):
        _, length = NUMBERS.unpack_from(content, len(MAGIC))
        self.document = json.loads(content[START : START + length])
        self.blocks = []
        place = START + length
        for _, _, stored, _ in self.document["arrays"]:
            self.blocks.append(content[place : place + stored])
            place += stored

    def copy(self):
        return copy.deepcopy(self)

    def content(self, number=FORMAT):
        return with_checksum(number, json.dumps(self.document).encode(), b"".join(self.blocks))

    def array(self, number):
        import zlib

        dtype, shape, _, is_compressed = self.document["arrays"][number]
        block = self.blocks[number]
        block = zlib.decompressobj().decompress(block) if is_compressed else block
        return np.frombuffer(block, DTYPES[dtype]).reshape(shape).copy()

    def put(self, number, array):
        """Another array in the place of one, as it is."""
        self.blocks[number] = array.tobytes()
        described = [array.dtype.str[1:], list(array.shape), array.nbytes, False]
        self.document["arrays"][number] = described

    def places(self):
        """Where every value of the document is: the keys that lead to it."""
        return list(_places(self.document, ()))

    def replaced(self, keys, value):
        changed = self.copy()
        inner = changed.document
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value
        return changed


def _places(value, keys):
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, own in inner:
        yield (*keys, key)
        if isinstance(own, (dict, list)):
            yield from _places(own, (*keys, key))


def outcome(content, X):
    """What a file ends in: a prediction, or one sentence; anything else is raised."""
    try:
        model, _ = read_content(content, Path("model.rboost"))
    except ValueError as error:
        said = str(error)
        assert said.startswith("model.rboost ")
        assert "\n" not in said
        return said
    try:
        return model.predict_proba(X[:40])
    except ValueError as error:
        return str(error)
