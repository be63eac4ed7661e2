"""Make a wheel that carries compiled kernels, for this Python and this kind of system, from the pure wheel.

    python tools/platform_wheel.py dist/consilience-0.1.0-py3-none-any.whl

The new wheel is written beside the old one. Kernels are compiled by the Python that runs this, which has
what the package needs, from the sources in the wheel, for the level of processor that
``consilience/_kernels/compile/store.py`` names. Takes minutes: everything that ``consilience warm-up`` knows
is used once, in one process, so that a kernel always finds the same others compiled.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import os
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

STORE = "consilience/_kernels/compile/kernels.store"

#: Run in a process of its own, whose settings of numba are those of the store.
COMPILE = """
import sys
from pathlib import Path
from consilience._kernels.compile import collect
from consilience._warmup.warm_up import warm_up
import consilience
assert Path(consilience.__file__).is_relative_to(sys.argv[1]), consilience.__file__
for warmed in warm_up(n_jobs=1):
    print(f"{warmed.name}: {warmed.compiled} kernels", file=sys.stderr, flush=True)
print(collect.write_store(Path(sys.argv[2])), "kernels and types of arguments")
"""


def compile_kernels(package: Path, store: Path) -> None:
    """Compile everything in the package below ``package``, and write the store."""
    # By its path: the package must not be imported here, with other settings of numba.
    level, features = _level()
    with tempfile.TemporaryDirectory() as cache:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "PYTHON"))}
        settings = {
            "PYTHONPATH": str(package),
            "PYTHONDONTWRITEBYTECODE": "1",
            "CONSILIENCE_COMPILED": "0",
            "NUMBA_CACHE_DIR": cache,
            "NUMBA_CPU_NAME": level,
            "NUMBA_CPU_FEATURES": features,
            "NUMBA_DISABLE_INTEL_SVML": "1",  # where the wheel is used there may be none
        }
        subprocess.run(
            [sys.executable, "-c", COMPILE, str(package), str(store)],
            env={**kept, **settings},
            cwd=cache,
            check=True,
        )


def _level() -> tuple[str, str]:
    from consilience._kernels.compile.store import level

    found = level()
    if found is None:
        sys.exit("There is no level of processor for this system; only the pure wheel is for it.")
    return found[0], ",".join(f"+{feature}" for feature in sorted(found[1]))


def tag() -> str:
    """The tag of wheels for this Python and this kind of system."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    abi = python + getattr(sys, "abiflags", "")
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if platform.startswith("linux_"):
        # Compiled kernels call nothing but what numba and Python, which are there, bring.
        platform = f"manylinux_2_17_{platform.removeprefix('linux_')}"
    return f"{python}-{abi}-{platform}"


def with_store(wheel: Path, store: bytes) -> Path:
    """Write the wheel anew with the store in it and the tag of this system; return where."""
    name, version, *_ = wheel.stem.split("-")
    new = wheel.with_name(f"{name}-{version}-{tag()}.whl")
    info = f"{name}-{version}.dist-info"
    rows = []
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
        files = {entry.filename: old.read(entry) for entry in old.infolist()}
        lines = files[f"{info}/WHEEL"].decode().splitlines()
        lines = [line for line in lines if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))]
        lines += ["Root-Is-Purelib: false", f"Tag: {tag()}"]
        files[f"{info}/WHEEL"] = ("\n".join(lines) + "\n").encode()
        files[STORE] = store
        del files[f"{info}/RECORD"]
        for file, content in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            rows.append((file, f"sha256={digest}", len(content)))
            archive.writestr(_entry(file), content)
        record = io.StringIO()
        csv.writer(record, lineterminator="\n").writerows([*rows, (f"{info}/RECORD", "", "")])
        archive.writestr(_entry(f"{info}/RECORD"), record.getvalue())
    return new


def _entry(name: str) -> zipfile.ZipInfo:
    """With a fixed date, so that equal files make equal wheels."""
    entry = zipfile.ZipInfo(name, date_time=(2020, 2, 2, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path, help="the pure wheel")
    wheel = parser.parse_args().wheel.resolve()
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder).resolve() / "package"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(package)
        sys.path.insert(0, str(package))
        store = Path(folder) / "kernels.store"
        compile_kernels(package, store)
        new = with_store(wheel, store.read_bytes())
    print(f"{new} ({new.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
