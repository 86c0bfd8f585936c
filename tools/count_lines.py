"""Lines of code of the package, imports included; blank lines, comments and docstrings not.

``python tools/count_lines.py`` prints lines and files of each folder of src/rboost and of all, and
all lines of src/native; ``--totals`` prints the totals alone.
"""

import ast
import sys
import tokenize
from collections import Counter
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"
NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def python_lines(path: Path) -> int:
    """Lines of a Python file that hold code."""
    lines: set[int] = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in NOT_CODE:
                lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str())) as docstring, *_]:
                    last = docstring.end_lineno or docstring.lineno
                    lines.difference_update(range(docstring.lineno, last + 1))
    return len(lines)


def by_room(package: Path) -> dict[str, tuple[int, int]]:
    """Lines and files of each folder of a package; ``.`` is the package itself."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        room = path.parent.relative_to(package).as_posix()
        lines[room] += python_lines(path)
        files[room] += 1
    return {room: (lines[room], files[room]) for room in sorted(files)}


def main() -> None:
    """Print a line for each room, unless only totals are asked for, and the totals."""
    rooms = by_room(SOURCES / "rboost")
    if "--totals" not in sys.argv[1:]:
        for room, (lines, files) in rooms.items():
            print(f"{room:30} {lines:6} lines {files:4} files")
    lines, files = (sum(column) for column in zip(*rooms.values(), strict=True))
    print(f"src/rboost: {lines} lines of code in {files} files")
    native = [path for path in (SOURCES / "native").iterdir() if path.suffix in (".cpp", ".hpp")]
    total = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in native)
    print(f"src/native: {total} lines in {len(native)} files, comments and all")


if __name__ == "__main__":
    main()
