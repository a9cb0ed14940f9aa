"""docs/errors.md lists what C and Python say; JUnit checks what Java says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs" / "errors.md"
C_FOLDER = REPOSITORY / "java-core" / "src" / "main" / "c"
C_SOURCES = sorted(C_FOLDER.glob("*.c"))
EXTENSION_SOURCES = sorted(C_FOLDER.glob("python/*.c"))
PACKAGE = REPOSITORY / "python-pkg" / "jccl"
PYTHON_SOURCES = sorted([*PACKAGE.glob("core/*.py"), *PACKAGE.glob("bindings/*.py")])
TORCH_SOURCES = sorted(PACKAGE.glob("torch/*.py"))

EXCEPTIONS = {"NcclInvalid", "ValueError", "TypeError", "RuntimeError", "ImportError"}
EXCEPTIONS |= {"DistBackendError", "NCCLError"}
# Methods that make an exception of their second argument.
MAKERS = {
    ("monitored.py", "self._refuse"): "DistBackendError",
    ("calls.py", "self._refusal"): "NcclInvalid",
    ("operations.py", "self._refusal"): "NcclInvalid",
}


class Said(NamedTuple):
    """A sentence of a source: an ellipsis stands for what varies."""

    raises: str
    sentence: str
    place: str


def _chapters() -> dict[str, list[Said]]:
    chapters: dict[str, list[Said]] = {}
    title = name = raises = ""
    in_block = False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            in_block = not in_block
        elif in_block:
            chapters[title].append(Said(raises, line, name))
        elif line.startswith("## "):
            title = line[3:]
            chapters[title] = []
        elif line.startswith("### "):
            name = line[4:]
        elif line.startswith("`"):
            raises = line.split("`")[1]
    return chapters


CHAPTERS = _chapters()
JAVAS = [said for title in list(CHAPTERS)[:4] for said in CHAPTERS[title]]


def _tidy(sentence: str) -> str:
    return re.sub("…+", "…", sentence)


LITERAL = r'(?:"(?:[^"\\]|\\.)*"|JCCL_VERSION)'
LITERALS = rf"({LITERAL}(?:\s*{LITERAL})*)"


def _of_literals(literals: str) -> str:
    parts = re.findall(LITERAL, literals)
    text = "".join("…" if p == "JCCL_VERSION" else p[1:-1] for p in parts)
    return _tidy(re.sub(r"%[-.\d*]*[lz]?[a-zR]", "…", text.replace('\\"', '"')))


def _of_c() -> Iterator[Said]:
    """The sentences of jccl_fail itself, and the reasons that its callers give it."""
    # Some reasons are kept in a variable first.
    call = re.compile(
        r"(?:jccl_no_\w+ =|unattached\[\] =|jccl_fail\((\w+),"
        rf"|snprintf\((?:reason|failure|jdk->reason|text), [\w> .-]+,)\s*{LITERALS}"
    )
    for source in C_SOURCES:
        text = source.read_text(encoding="utf-8")
        for found in call.finditer(text):
            sentence = _of_literals(found[2])
            if re.search(r"\w", sentence) and sentence != "a Java exception without a text":
                line = text.count("\n", 0, found.start()) + 1
                yield Said(found[1] or "", sentence, f"{source.name}:{line}")


def _of_the_extension() -> Iterator[Said]:
    """The exceptions that C makes of a sentence; a choice of two exceptions counts as both."""
    call = re.compile(rf"PyErr_(?:Format|SetString)\(([^\",]*),\s*{LITERALS}")
    for source in EXTENSION_SOURCES:
        text = source.read_text(encoding="utf-8")
        found = list(call.finditer(text))
        assert len(found) == len(re.findall(r"PyErr_(?:Format|SetString)\(", text)), source
        for each in found:
            line = text.count("\n", 0, each.start()) + 1
            for exception in re.findall(r"PyExc_(\w+)", each[1]):
                yield Said(exception, _of_literals(each[2]), f"{source.name}:{line}")


def _text(tree: ast.expr | None, names: dict[str, str]) -> str:
    match tree:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part, names) for part in parts)
        case ast.FormattedValue(value=ast.Name(id=name)) if name in names:
            return names[name]
        case ast.FormattedValue(value=ast.Call(func=ast.Name(id="failure"))):
            return _LIBRARYS
        case _:
            return "…"


_LIBRARYS = "\0"


def _constants(module: ast.Module) -> dict[str, str]:
    return {
        target.id: statement.value.value
        for statement in module.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }


def _of_python(sources: list[Path]) -> Iterator[Said]:
    """Exceptions that Python makes, except those that pass on a sentence of the library."""
    for source in sources:
        module = ast.parse(source.read_text(encoding="utf-8"))
        names = _constants(module)
        for call in ast.walk(module):
            if not isinstance(call, ast.Call):
                continue
            called = ast.unparse(call.func)
            exception = MAKERS.get((source.name, called), called)
            if exception not in EXCEPTIONS:
                continue
            place = 1 if exception != called or called == "NCCLError" else 0
            argument = call.args[place] if len(call.args) > place else None
            sentence = _tidy(_text(argument, names))
            if _LIBRARYS not in sentence and re.search(r"\w", sentence):
                yield Said(exception, sentence, f"{source.name}:{call.lineno}")


def _is_javas(said: Said) -> bool:
    for known in JAVAS:
        pattern = ".+".join(map(re.escape, known.sentence.split("…")))
        if known.raises == said.raises and re.fullmatch(pattern, said.sentence):
            return True
    return False


@pytest.mark.parametrize(
    ("chapter", "said"),
    [
        ("Before Java runs", list(_of_c())),
        ("Python: jccl.core", [*_of_python(PYTHON_SOURCES), *_of_the_extension()]),
        ("Python: jccl.torch", list(_of_python(TORCH_SOURCES))),
    ],
    ids=["C", "Python", "torch"],
)
def test_the_page_lists_what_the_sources_say(chapter: str, said: list[Said]) -> None:
    assert len(said) > 10, "the sources were not understood"
    listed = {(known.raises, known.sentence) for known in CHAPTERS[chapter]}
    sentences = {known.sentence for known in CHAPTERS[chapter]}
    unlisted = [
        each
        for each in said
        if (each.raises, each.sentence) not in listed
        and not (each.raises == "" and each.sentence in sentences)
        and not _is_javas(each)
        and not each.sentence.endswith("; see DIFFERENCES.md")
    ]
    assert not unlisted, f"docs/errors.md lacks {unlisted}"
    unsaid = sentences - {each.sentence for each in said}
    assert not unsaid, f"no source says {unsaid}"


#: Capitals in the documentation that are no errors.
OTHERS = {"AVG", "IN_PROGRESS", "INVALID_ARGUMENT", "INVALID_USAGE", "PROD"}
OTHERS |= {
    "REMOTE_ERROR",
    "SUCCESS",
    "SYSTEM_ERROR",
    "UNHANDLED_CUDA_ERROR",
    "TIMEOUT",
    "JCCL_DETERMINISTIC",
    "JCCL_DEVICE",
    "NOCOLOR",
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
}


@pytest.mark.parametrize(
    ("source", "documentation"),
    [
        (PACKAGE / "core" / "operations.py", r'"""(.*?)"""'),
        (C_FOLDER.parent / "java" / "org" / "jccl" / "Communicator.java", r"/\*\*(.*?)\*/"),
        (C_FOLDER.parent / "java" / "org" / "jccl" / "Collectives.java", r"/\*\*(.*?)\*/"),
    ],
    ids=["Python", "Communicator", "Collectives"],
)
def test_the_errors_that_the_documentation_names_are_entries_of_the_page(
    source: Path, documentation: str
) -> None:
    text = " ".join(re.findall(documentation, source.read_text(encoding="utf-8"), re.DOTALL))
    named = set(re.findall(r"\b[A-Z]{4,}\b|\b[A-Z]+(?:_[A-Z]+)+\b", text)) - OTHERS
    named -= {"DIFFERENCES", "JCCL", "NCCL"}
    named = {name for name in named if not name.startswith(("JCCL_", "NCCL_"))}
    entries = set(re.findall(r"^### (\w+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert named, "the documentation was not understood"
    assert named <= entries
