"""What is in a wheel: recipes and templates are found from it, and from an editable install."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIST = "from localspec.recipe import recipe_names; print(len(recipe_names()))"
TEMPLATES = "from localspec.chat.named import template_names; print(len(template_names()))"


def python(code: str, path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(path)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=path,
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built and installed without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run([*pip, *build], check=True)
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
    subprocess.run([*pip, "install", "--no-deps", "--target", str(site), str(wheel)], check=True)
    return site


def test_wheel_brings_recipes_and_templates(installed: Path) -> None:
    n_recipes = len(list((ROOT / "recipes").glob("*.toml")))
    assert python(LIST, installed) == str(n_recipes)
    n_templates = len(list((ROOT / "localspec" / "chat" / "templates").glob("*.jinja")))
    assert python(TEMPLATES, installed) == str(n_templates)
    assert n_templates > 3
    assert (installed / "localspec" / "bench" / "page.html.jinja").is_file()
    shown = python("import localspec; print(localspec.__file__)", installed)
    assert Path(shown).is_relative_to(installed)


def test_editable_install_uses_the_recipes_of_the_checkout(tmp_path: Path) -> None:
    """The copy that the install leaves in site-packages would go stale."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    how = ["--no-deps", "--no-build-isolation", "--target", str(tmp_path), "-e", str(ROOT)]
    subprocess.run([*pip, *how], check=True)
    code = (
        f"import site; site.addsitedir({str(tmp_path)!r}); from localspec import recipe; "
        "print(*[r.path for r in recipe.list_recipes()], sep='|')"
    )
    found = {Path(path) for path in python(code, tmp_path).split("|")}
    assert found == set((ROOT / "recipes").glob("*.toml"))


def test_checkout_brings_recipes() -> None:
    n_recipes = len(list((ROOT / "recipes").glob("*.toml")))
    assert python(LIST, ROOT) == str(n_recipes)


def test_licence_and_entry_point_are_in_the_wheel(installed: Path) -> None:
    (info,) = installed.glob("localspec-*.dist-info")
    assert "localspec = localspec.__main__:main" in (info / "entry_points.txt").read_text()
    assert any(path.name == "LICENSE" for path in info.rglob("*"))
