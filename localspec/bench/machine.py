"""What a benchmark ran on: the machine, the files, and what this process took of its memory."""

import sys
from typing import Any

import psutil

from localspec.checkup import examine
from localspec.params import SamplingParams
from localspec.runtime import Runtime
from localspec.store.header import Header


def machine_facts(runtime: Runtime) -> dict[str, Any]:
    """Processor, cores, memory, system, llama.cpp and threads, as JSON values."""
    found = examine()
    machine, llama = found["machine"], found["llama"]
    return {
        "processor": machine["processor"],
        "cores_physical": machine["cores_physical"],
        "cores_logical": machine["cores_logical"],
        "memory_bytes": machine["memory_bytes"],
        "system": machine["system"],
        "devices": [f"{d['description']} ({d['kind']})" for d in llama.get("devices", [])],
        "threads": runtime.threads.decode,
        "verify_threads": runtime.threads.verify,
        "load": _load(),
        "llama_cpp_python": llama.get("version"),
        "features": llama.get("features"),
        "localspec": found["localspec"],
        "python": found["python"],
    }


def file_facts(header: Header) -> dict[str, Any]:
    """A model file, as JSON values; its folder is nobody's business."""
    return {
        "name": header.name,
        "file": header.path.name,
        "architecture": header.architecture,
        "quantization": header.quantization,
        "size_bytes": header.size_bytes,
        "n_params": header.n_params,
    }


def trace_header(
    runtime: Runtime, sampling: SamplingParams, machine: dict[str, Any], *, full: bool = False
) -> dict[str, Any]:
    """What a trace says of its origin, as JSON values.

    Args:
        runtime: what answers.
        sampling: how tokens are chosen.
        machine: see `machine_facts`.
        full: the drafter proposes to full depth, whatever is verified.
    """
    drafter = runtime.drafter_header
    return {
        "model": file_facts(runtime.header),
        "drafter": None if drafter is None else file_facts(drafter),
        "machine": machine,
        "temperature": sampling.temperature,
        "seed": sampling.seed,
        "numerics": runtime.numerics,
        "full": full,
    }


def peak_memory_bytes() -> int:
    """The most memory this process has had in use so far; weights mapped from a file count as far as they
    were read."""
    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    import resource  # noqa: PLC0415 (POSIX only)

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # getrusage(2): kilobytes, on macOS bytes
    return peak if sys.platform == "darwin" else peak * 1024


def _load() -> float | None:
    """Processes that wanted a core over the last minute, on average; None where it is not known."""
    try:
        return round(float(psutil.getloadavg()[0]), 2)
    except (OSError, AttributeError):
        return None
