"""The rules of the house that a count can hold."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CODE = sorted((ROOT / "localspec").rglob("*.py"))
SCRIPTS = [p for p in sorted((ROOT / "scripts").iterdir()) if p.is_file()]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
TEXTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob("*.t*ml")),
    ROOT / "constraints.txt",
    ROOT / ".ci" / "run",
    *sorted((ROOT / "docs").rglob("*.*")),
    *sorted((ROOT / "recipes").glob("*.toml")),
]
MACHINE = re.compile("/" + "work/|/" + "root/|/" + "tmp/w|pypi" + r"\.org|pythonhosted" + r"\.org")


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("path", [*CODE, *SCRIPTS, *TESTS], ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_holds_one_concept(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    assert not MACHINE.search(text), "a path or host of one machine"


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_text_names_a_machine(path: Path) -> None:
    assert not MACHINE.search(path.read_text(encoding="utf-8")), "a path or host of one machine"


@pytest.mark.parametrize("path", CODE, ids=lambda p: str(p.relative_to(ROOT)))
def test_functions_are_short_and_documented(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if tree.body:
        assert ast.get_docstring(tree), "a module says what it is"
    for function in functions(path):
        n_lines = (function.end_lineno or 0) - function.lineno + 1
        assert n_lines <= 80, f"{function.name} has {n_lines} lines"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "localspec" / "cli").glob("*.py")), ids=lambda p: p.name
)
def test_a_command_only_builds_calls_and_draws(path: Path) -> None:
    for function in functions(path):
        first = function.body[0]
        n_lines = (function.end_lineno or 0) - first.lineno + 1
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            n_lines -= (first.end_lineno or 0) - first.lineno + 1
        assert n_lines <= 25, f"{function.name} has a body of {n_lines} lines"


def test_version_and_help_import_nothing_heavy() -> None:
    code = (
        "import sys, runpy\n"
        "sys.argv = ['localspec', {argument!r}]\n"
        "try:\n    runpy.run_module('localspec', run_name='__main__')\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {{'llama_cpp', 'numpy', 'huggingface_hub', 'jinja2', 'gguf'}} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    for argument in ("--version", "--help"):
        command = [sys.executable, "-c", code.format(argument=argument)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


def test_scripts_and_readme_agree() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in re.findall(r"python (scripts/\w+)", readme):
        assert (ROOT / command).is_file(), command
    for command in re.findall(r"^localspec (\w+)", readme, re.MULTILINE):
        assert (ROOT / "localspec" / "cli" / f"{command}.py").is_file(), command
    for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", readme):
        assert (ROOT / picture).is_file(), picture
