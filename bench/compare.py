"""All-reduce of JCCL from Java, C and torch beside gloo, OpenMPI and Intel MPI, in one run.

Libraries take turns in every round, so that a noisy minute hits all of them. The table shows
medians over the rounds, and medians of each round's ratio to OpenMPI (Java, C), to Intel MPI's Java
bindings (Java) or to gloo (torch).
The clients of all libraries write the inputs before each call and read the outputs after it; the
time includes this. Each run has a session of its own, which the script raises above other sessions
if this user may do that. A series counts only if the host of a virtual machine stole nothing from
it. If too few series count, the table marks the figure with ~.

Every round runs fresh processes. --fresh N shows how much these differ: it makes N rounds of the
sizes up to 2 KiB, and prints the 90th percentile as a multiple of each median. The figure of a
process is the median of those of three, seconds apart, that were least disturbed: it shows what the
process is like, not a moment. The multiple in brackets is that of the last of the three alone. If
each rank has a core, Java and C clients also discard series in which something slowed the core, or
the host had moved two ranks' cores apart (c/measure.c). A process that stayed disturbed counts;
beside it stand the median and the multiple of the others.

python bench/compare.py [--rounds 3] [--ranks 2 4] [--json bench/results/NAME.json]
python bench/compare.py --fresh 20 --only java c intelmpi

--against measures Java and C of the installed JCCL and of another one in turns, in 15 rounds unless
--rounds says otherwise. The status is 1 if a size is certainly slower.

python bench/compare.py --against ../before --only java --ranks 2
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import against
import fresh
from figures import Table, middle, parsed

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / "build" / "bench"
GSON = ROOT / "build" / "tools" / "gson.jar"
SIZES = [8 * 4**i for i in range(12)] + [64 << 20]
FRESH_SIZES = SIZES[:5]
#: Clients measure these sizes first, and then again: compilers need seconds beside busy ranks.
WARM_UP = SIZES[:6]
RUN_LIMIT_S = 600
ROUNDS = 3
QUIET_LOAD = 0.10
#: Whether each rank gets a raised session of its own and, if there are enough cores, a core of its
#: own. beside.py and nodes.py do not want that.
undisturbed = True
#: A figure is the median of so many of a program's last ones for a size.
passes = 1
JVM_FLAGS = ["--add-modules=jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"]

Command = list[str]


class Setting:
    """Where the programs and libraries are."""

    def __init__(self, library: Path, java_home: Path) -> None:
        self.library = library
        self.java = java_home / "bin"
        self.jar = next(library.glob("jccl-core-*.jar"))
        # The classes of the Java client belong to the jar that they were compiled against.
        self.classes = BUILD / f"java-{zlib.crc32(str(self.jar).encode()):08x}"
        # Where pip installs impi-rt and impi-devel.
        self.intel_mpi = Path(sys.prefix)
        self.intel_mpi_jar = self.intel_mpi / "share/java/mpi.jar"

    def has_intel_mpi(self) -> bool:
        """Whether both packages of Intel MPI are installed."""
        return (self.intel_mpi / "bin/mpiexec.hydra").exists() and (
            self.intel_mpi / "include/mpi.h"
        ).exists()


def open_mpi(command: str) -> str | None:
    """The path of a command of OpenMPI: by Debian's name, which is unique, or by the plain one."""
    return shutil.which(f"{command}.openmpi") or shutil.which(command)


def _run(command: Command) -> None:
    subprocess.run(command, check=True)


def build(setting: Setting, wanted: list[str]) -> None:
    """Compiles the clients; that of OpenMPI, whose mpicc another MPI may replace, if wanted."""
    BUILD.mkdir(parents=True, exist_ok=True)
    sources, flags = HERE / "c", ["-O3", "-Wall", "-Wextra", "-Werror"]
    measure = str(sources / "measure.c")
    include = f"-I{ROOT / 'java-core/src/main/c'}"
    library = [f"-L{setting.library}", "-l:libnccl.so.2", f"-Wl,-rpath,{setting.library}"]
    nccl, mpi = str(sources / "nccl_client.c"), str(sources / "mpi_client.c")
    _run(["cc", *flags, include, nccl, measure, "-o", str(BUILD / "nccl_client"), *library])
    touch = ["-shared", "-fPIC", str(sources / "touch.c"), "-o", str(BUILD / "touch.so")]
    _run(["cc", *flags, *touch])
    mpicc = open_mpi("mpicc") if "openmpi" in wanted else None
    if mpicc is not None:
        _run([mpicc, *flags, mpi, measure, "-o", str(BUILD / "mpi_client")])
    if setting.has_intel_mpi():
        at = setting.intel_mpi
        intel = [f"-I{at}/include", f"-L{at}/lib", "-l:libmpi.so.12", f"-Wl,-rpath,{at}/lib"]
        _run(["cc", *flags, mpi, measure, "-o", str(BUILD / "intel_mpi_client"), *intel])
    build_java(setting)


def build_java(setting: Setting) -> None:
    """Compiles the clients of the Java API, and of Intel MPI's if it is installed."""
    if not GSON.exists():
        _run(["mvn", "-q", "-N", "-f", str(ROOT / "pom.xml"), "dependency:copy@gson"])
    names = ["Measure", "Report", "AllReduceClient"]
    if setting.intel_mpi_jar.exists():
        names.append("MpiClient")
    javac = [str(setting.java / "javac"), "-proc:none", "-cp", _class_path(setting)]
    sources = (str(HERE / "java" / f"{name}.java") for name in names)
    _run([*javac, "-d", str(setting.classes), *sources])


def _class_path(setting: Setting) -> str:
    return f"{setting.jar}:{setting.classes}:{GSON}:{setting.intel_mpi_jar}"


def java_command(setting: Setting) -> Command:
    """The beginning of a command that runs a class of the Java clients."""
    return [str(setting.java / "java"), *JVM_FLAGS, "-cp", _class_path(setting)]


# -- one run of one library


def _pin(rank: int, ranks: int) -> Command:
    """The beginning of a command that gets a core of its own, if there are enough."""
    cores = sorted(os.sched_getaffinity(0))
    return ["taskset", "-c", str(cores[rank])] if undisturbed and ranks <= len(cores) else []


def _own_session() -> None:
    """Gives the process a session, which is a scheduling group; raises it if it may."""
    if not undisturbed:
        return
    os.setsid()
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text("-15", encoding="ascii")


def collect(processes: list[subprocess.Popen[str]], name: str) -> Table:
    """Rank 0's table of the last figures of each size; ends the program if a rank fails."""
    deadline = time.monotonic() + RUN_LIMIT_S
    try:
        text = ""
        for process in processes:
            out, _ = process.communicate(timeout=max(1.0, deadline - time.monotonic()))
            text += out
            if process.returncode != 0:
                raise SystemExit(f"{name} failed with status {process.returncode}:\n{text}")
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return {size: middle(found[-passes:]) for size, found in parsed(text).items()}


def start(command: Command) -> subprocess.Popen[str]:
    """Starts a process, in a session of its own if undisturbed, and keeps its output."""
    return subprocess.Popen(
        command,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=_own_session,
    )


def _ranks(
    name: str, ranks: int, command: Callable[[int, str], Command], *, pinned: bool = True
) -> Table:
    """Starts a process per rank; they meet by a file."""
    with tempfile.TemporaryDirectory() as directory:
        meeting = str(Path(directory, "meeting"))
        pins = [_pin(r, ranks) if pinned else [] for r in range(ranks)]
        started = [start(pins[r] + command(r, meeting)) for r in range(ranks)]
        return collect(started, name)


def run_java(setting: Setting, ranks: int, sizes: list[str]) -> Table:
    """The Java API."""
    java = java_command(setting)
    return _ranks(
        "Java", ranks, lambda r, at: [*java, "AllReduceClient", str(r), str(ranks), at, *sizes]
    )


def run_c(setting: Setting, ranks: int, sizes: list[str]) -> Table:
    """The C ABI, of the installation that the setting names."""
    client = ["env", f"LD_LIBRARY_PATH={setting.library}", str(BUILD / "nccl_client")]
    return _ranks("C", ranks, lambda r, at: [*client, str(r), str(ranks), at, *sizes])


def _run_torch(backend: str, ranks: int, sizes: list[str]) -> Table:
    # Gloo's threads need other cores than its callers: gloo is several times slower if pinned.
    script, touch = str(HERE / "python/all_reduce.py"), str(BUILD / "touch.so")
    return _ranks(
        f"torch on {backend}",
        ranks,
        lambda r, at: [sys.executable, script, backend, str(r), str(ranks), at, touch, *sizes],
        pinned=backend != "gloo",
    )


def run_torch(_: Setting, ranks: int, sizes: list[str]) -> Table:
    """JCCL from torch."""
    return _run_torch("jccl", ranks, sizes)


def run_gloo(_: Setting, ranks: int, sizes: list[str]) -> Table:
    """Gloo from torch."""
    return _run_torch("gloo", ranks, sizes)


def run_mpi(_: Setting, ranks: int, sizes: list[str]) -> Table:
    """OpenMPI; its options say whether ranks share cores."""
    command = [open_mpi("mpirun") or "mpirun", "-n", str(ranks)]
    if os.getuid() == 0:
        command.append("--allow-run-as-root")
    if undisturbed and ranks <= len(os.sched_getaffinity(0)):
        command += ["--bind-to", "core"]
    else:
        command += ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    return collect([start([*command, str(BUILD / "mpi_client"), *sizes])], "OpenMPI")


def _run_intel_mpi(setting: Setting, ranks: int, program: Command) -> Table:
    command = [str(setting.intel_mpi / "bin/mpiexec.hydra"), "-n", str(ranks)]
    command += ["-genv", "I_MPI_FABRICS", "shm", "-genv", "I_MPI_ROOT", str(setting.intel_mpi)]
    if not undisturbed or ranks > len(os.sched_getaffinity(0)):
        command += ["-genv", "I_MPI_PIN", "0", "-genv", "I_MPI_WAIT_MODE", "1"]
        command += ["-genv", "I_MPI_THREAD_YIELD", "2"]
    return collect([start([*command, *program])], "Intel MPI")


def run_intel_mpi(setting: Setting, ranks: int, sizes: list[str]) -> Table:
    """Intel MPI in shared memory, with such options; it pins ranks to cores by itself."""
    return _run_intel_mpi(setting, ranks, [str(BUILD / "intel_mpi_client"), *sizes])


def run_intel_mpi_java(setting: Setting, ranks: int, sizes: list[str]) -> Table:
    """Intel MPI's Java bindings, likewise."""
    lib = setting.intel_mpi / "lib"
    java = ["env", f"LD_LIBRARY_PATH={lib}", *java_command(setting), f"-Djava.library.path={lib}"]
    return _run_intel_mpi(setting, ranks, [*java, "MpiClient", *sizes])


LIBRARIES: dict[str, Callable[[Setting, int, list[str]], Table]] = {
    "java": run_java,
    "c": run_c,
    "openmpi": run_mpi,
    "intelmpi": run_intel_mpi,
    "intelmpi-java": run_intel_mpi_java,
    "torch-jccl": run_torch,
    "torch-gloo": run_gloo,
}
RATIOS = [
    ("java", "openmpi"),
    ("c", "openmpi"),
    ("java", "intelmpi-java"),
    ("torch-jccl", "torch-gloo"),
]

# -- the machine


def _busy() -> tuple[int, int]:
    numbers = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    idle = numbers[3] + numbers[4]
    return sum(numbers) - idle, sum(numbers)


def wait_until_quiet(limit_s: float) -> float:
    """Waits for other load to end; returns what was left of it, as a share of all cores."""
    deadline = time.monotonic() + limit_s
    while True:
        busy, total = _busy()
        time.sleep(1)
        busy2, total2 = _busy()
        load = (busy2 - busy) / max(1, total2 - total)
        if load < QUIET_LOAD or time.monotonic() > deadline:
            return load


def _first_line(command: Command) -> str:
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    return (done.stdout + done.stderr).strip().split("\n")[0]


def machine(setting: Setting) -> dict[str, str]:
    """Describes what the figures depend on."""
    import torch

    mpirun = open_mpi("mpirun")
    cpu = Path("/proc/cpuinfo").read_text().split("model name\t: ")
    return {
        "cpu": cpu[1].split("\n")[0] if len(cpu) > 1 else platform.processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "kernel": platform.release(),
        "java": _first_line([str(setting.java / "java"), "--version"]),
        "openmpi": _first_line([mpirun, "--version"]) if mpirun else "absent",
        "torch": torch.__version__,
    }


# -- the table


def _median(rounds: list[Table], size: int) -> str:
    figures = [table[size] for table in rounds]
    quiet = [figure.us for figure in figures if figure.stolen == 0]
    if quiet:
        return us_text(statistics.median(quiet))
    return "~" + us_text(statistics.median(figure.us for figure in figures))


def _ratio(above: list[Table], below: list[Table], size: int) -> str:
    pairs = [(a[size], b[size]) for a, b in zip(above, below, strict=True)]
    quiet = [a.us / b.us for a, b in pairs if a.stolen == b.stolen == 0]
    if quiet:
        return f"{statistics.median(quiet):.2f}"
    return f"~{statistics.median(a.us / b.us for a, b in pairs):.2f}"


def us_text(us: float) -> str:
    """Microseconds with three digits."""
    return f"{us:.2f}" if us < 10 else f"{us:.1f}" if us < 100 else f"{us:.0f}"


def size_name(size: int) -> str:
    """A size with its unit."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def table(ranks: int, results: dict[str, list[Table]]) -> str:
    """Markdown: medians in microseconds, then ratios."""
    names = [name for name in LIBRARIES if name in results]
    ratios = [(a, b) for a, b in RATIOS if a in results and b in results]
    heads = ["size", *names, *(f"{a} / {b}" for a, b in ratios)]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for size in SIZES:
        cells = [size_name(size), *(_median(results[name], size) for name in names)]
        cells += [_ratio(results[a], results[b], size) for a, b in ratios]
        lines.append(f"| {' | '.join(cells)} |")
    return f"**{ranks} ranks, µs per call**\n\n" + "\n".join(lines) + "\n"


def setting() -> Setting:
    """The setting of the JCCL that is installed."""
    import jccl

    library = Path(jccl.__file__).parent / "_lib"
    sys.path.insert(0, str(ROOT / ".ci"))
    import jdk

    home = jdk.find()
    if home is None:
        raise SystemExit(jdk.WHAT_TO_INSTALL)
    return Setting(library, home)


def present(setting: Setting, wanted: list[str]) -> list[str]:
    """The wanted libraries that are installed; prints what the others need."""
    names = [name for name in LIBRARIES if name in wanted]
    if "openmpi" in names and not (BUILD / "mpi_client").exists():
        print("OpenMPI is not installed (openmpi-bin, libopenmpi-dev): its column is left out.")
        names.remove("openmpi")
    intel = [name for name in names if name.startswith("intelmpi")]
    if intel and not setting.has_intel_mpi():
        print("Intel MPI is not installed (impi-rt, impi-devel of PyPI): it is left out.")
        names = [name for name in names if name not in intel]
    return names


def compare_with(found: Setting, other: Setting, options: argparse.Namespace) -> bool:
    """Measures two installations in turns; returns whether a size is certainly slower now."""
    sizes = [str(size) for size in WARM_UP + SIZES]
    slower = False
    for ranks in options.ranks:
        for name in [one for one in ("java", "c") if one in options.only]:
            now: list[Table] = []
            before: list[Table] = []
            for number in range(options.rounds or against.ROUNDS):
                for setting, tables in ((found, now), (other, before)):
                    wait_until_quiet(options.patience)
                    tables.append(LIBRARIES[name](setting, ranks, sizes))
                print(f"# {ranks} ranks, round {number + 1}, {name}", flush=True)
            print(f"\n**{ranks} ranks, {name}, µs per call**\n")
            print("| size | now | before | ratio | 95 % | |\n|---|---|---|---|---|---|")
            for size, cells in zip(SIZES, against.rows(now, before, SIZES), strict=True):
                print(f"| {size_name(size)} | {' | '.join(cells)} |")
                slower |= bool(cells[-1])
    return slower


def main() -> None:
    """Runs the comparison, prints the tables, writes the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--fresh", type=int, metavar="PROCESSES")
    parser.add_argument("--against", type=Path, metavar="INSTALLATION")
    parser.add_argument("--only", nargs="+", choices=sorted(LIBRARIES), default=list(LIBRARIES))
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for quiet")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = setting()
    build(found, options.only)
    if options.against:
        other = Setting(against.library_in(options.against), found.java.parent)
        build_java(other)
        sys.exit(int(compare_with(found, other, options)))
    names = present(found, options.only)
    measured = FRESH_SIZES if options.fresh else SIZES
    warm_up = WARM_UP * (fresh.WARM_UPS if options.fresh else 1)
    global passes
    passes = fresh.PASSES if options.fresh else 1
    sizes = [str(size) for size in warm_up + measured * passes]
    n_rounds = options.fresh or options.rounds or ROUNDS
    report: dict[str, Any] = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": "python bench/compare.py " + " ".join(sys.argv[1:]),
        "machine": machine(found),
        "other_load": [],
        "microseconds_and_stolen": {},
    }
    kept = tempfile.TemporaryDirectory()
    for ranks in options.ranks:
        results: dict[str, list[Table]] = {name: [] for name in names}
        if options.fresh:
            fresh.tell_clients(kept.name, ranks)
        for number in range(n_rounds * (fresh.MOST_ROUNDS if options.fresh else 1)):
            if number >= n_rounds and fresh.enough(results, measured, n_rounds):
                break
            for name in names:
                load = wait_until_quiet(options.patience)
                report["other_load"].append(round(load, 2))
                results[name].append(LIBRARIES[name](found, ranks, sizes))
                say = f"# {ranks} ranks, round {number + 1}, {name}: other load {load:.0%}"
                trip = max((f.trip_ns for f in results[name][-1].values()), default=0.0)
                print(say + (f", a word's way and back {trip:.0f} ns" if trip else ""))
        report["microseconds_and_stolen"][str(ranks)] = results
        named = {size: size_name(size) for size in measured}
        tables = fresh.table(ranks, results, named) if options.fresh else table(ranks, results)
        print(tables, flush=True)
    kept.cleanup()
    print(f"{report['date']}, {report['machine']}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
