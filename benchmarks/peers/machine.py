"""What a record says of the machine and the versions."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

from .settings import REPOSITORY

PACKAGES = ("torch", "torchvision", "transformers", "onnxruntime", "openvino", "nncf", "onnx", "numpy", "pillow")
LOWER_PRECISION = (("avx_vnni", "AVX-VNNI"), ("avx512_vnni", "VNNI"), ("avx512_bf16", "BF16"), ("avx512_fp16", "FP16"), ("amx_tile", "AMX"))
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def described_run(mode: str, arguments: list[str], threads: int) -> dict[str, object]:
    """A row of the results."""
    return {
        "mode": mode,
        "arguments": " ".join(arguments),
        "threads": threads,
        "time": datetime.datetime.now().isoformat(timespec="minutes"),
        "commit": said("git", "describe", "--always", "--dirty"),
        "machine": machine(),
        "versions": versions(),
    }


def machine() -> str:
    fields = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line)
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    flags = set(fields.get("flags", "").split())
    isa = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), platform.machine())
    isa = " with ".join([isa, *([", ".join(lower)] if (lower := [name for flag, name in LOWER_PRECISION if flag in flags]) else [])])
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    parts = [
        f"{fields.get('model name', platform.processor())} (family {fields.get('cpu family')}, model {fields.get('model')}, {isa})",
        f"{len(os.sched_getaffinity(0))} cores",
        *(f"L{level} {size}" for level, size in caches()),
        f"{memory:.0f} GiB",
        *(["virtual machine"] if "hypervisor" in flags else []),
        platform.freedesktop_os_release().get("PRETTY_NAME", ""),
        f"Linux {platform.release().split('-')[0]}",
    ]
    return " · ".join(part for part in parts if part)


def caches() -> list[tuple[str, str]]:
    """Level and size of the data caches that the first core uses."""
    found = []
    for index in sorted(CACHES.glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found.append((level, size))
    return found


def versions() -> str:
    packages = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    return " · ".join([said("rustc", "--version"), f"Python {platform.python_version()}", *packages])


def said(*command: str) -> str:
    output = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False).stdout
    return output.strip() or f"{command[0]} unknown"
