"""What this machine has and whether localspec can run on it: the facts behind `doctor`."""

import os
import platform
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil
from huggingface_hub import constants

from localspec import __version__, paths
from localspec.errors import LocalspecError
from localspec.recipe import list_recipes, recipe_folders

_PACKAGES = ("llama-cpp-python", "huggingface-hub", "numpy", "typer", "rich")
_LOW_DISK = 5e9


def examine() -> dict[str, Any]:
    """Versions, machine, llama.cpp, places, and a list of findings.

    Each finding is {"ok": bool, "message": str, "hint": str | None}; all is well if every one is ok.
    """
    llama, findings = _llama()
    hub = Path(constants.HF_HUB_CACHE)
    free = shutil.disk_usage(_existing(hub)).free
    findings += _recipes()
    findings.append(
        _finding(
            free > _LOW_DISK,
            f"{free / 1e9:.0f} GB are free where models are stored ({hub})",
            "Free some space, or move the cache: set HF_HOME",
        )
    )
    return {
        "localspec": __version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "machine": _machine(),
        "llama": llama,
        "places": {
            "hugging_face": str(hub),
            "cache": str(paths.cache_dir()),
            "data": str(paths.data_dir()),
            "state": str(paths.state_dir()),
            "config": str(paths.config_dir()),
        },
        "findings": findings,
    }


def _machine() -> dict[str, Any]:
    memory = psutil.virtual_memory()
    return {
        "system": platform.platform(terse=True),
        "processor": _processor(),
        "cores_physical": psutil.cpu_count(logical=False),
        "cores_logical": psutil.cpu_count(logical=True),
        "memory_bytes": memory.total,
        "memory_available_bytes": memory.available,
    }


def _llama() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Facts of llama.cpp; a binding that cannot be loaded is a finding, not a failure."""
    try:
        from localspec.llama.devices import computes_on_gpu, list_devices
        from localspec.llama.library import library
        from localspec.llama.threads import usable_cores
    except LocalspecError as error:
        return {}, [_finding(False, error.message, error.hint)]
    on_gpu = computes_on_gpu()
    facts = {
        "version": library().version,
        "features": library().system_info.strip(" |"),
        "gpu": on_gpu,
        "default_threads": usable_cores(),
        "default_numerics": "fast" if on_gpu else "exact",
        "devices": [
            {
                "name": device.name,
                "description": device.description,
                "kind": device.kind,
                "free_bytes": device.free_bytes,
                "total_bytes": device.total_bytes,
            }
            for device in list_devices()
        ],
    }
    findings = [_finding(True, f"llama.cpp works (llama-cpp-python {facts['version']})", None)]
    if not on_gpu and shutil.which("nvidia-smi"):
        findings.append(
            _finding(
                False,
                "an NVIDIA card is here, and this build of llama.cpp cannot use it",
                'CMAKE_ARGS="-DGGML_CUDA=on" python -m pip install --force-reinstall --no-cache-dir'
                " llama-cpp-python",
            )
        )
    return facts, findings


def _recipes() -> list[dict[str, Any]]:
    """Whether each recipe can be read and the user's own files that it names are there."""
    findings: list[dict[str, Any]] = []
    found = list_recipes(
        lambda name, error: findings.append(_finding(False, error.message, error.hint))
    )
    for recipe in found:
        for path in recipe.missing_files():
            message = f"The recipe {recipe.name} names the file {path}, which is not there."
            hint = f"Put it there, or mend the path in {recipe.path}"
            findings.append(_finding(False, message, hint))
    if not findings:
        own = f"your own go into {recipe_folders()[0]}"
        findings.append(_finding(True, f"{len(found)} recipes can be read; {own}", None))
    return findings


def _processor() -> str:
    """The processor's name as its maker writes it."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return os.environ.get("PROCESSOR_IDENTIFIER") or platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _existing(path: Path) -> Path:
    """The nearest folder above `path` that exists."""
    return next(p for p in (path, *path.parents) if p.exists())


def _finding(ok: bool, message: str, hint: str | None) -> dict[str, Any]:
    return {"ok": ok, "message": message, "hint": None if ok else hint}
