"""Neighbours of JCCL in a process: other JVMs and interpreters, signal handlers, workers."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import subprocess
import sys
import types
from pathlib import Path

import jccl.bindings
import pytest
from guest import LIMIT_S, START, python
from jccl.bindings import load, use

REPOSITORY = Path(__file__).resolve().parent.parent

# ---- A JVM that somebody else has made ----

JPYPE = """
import jpype

def start_java(home, *options):
    options = ("--enable-native-access=ALL-UNNAMED",) if "25" in home else ()
    jpype.startJVM(home + "/lib/server/libjvm.so", *options)

def java_class(name):
    return jpype.JClass(name)
"""
# Importing it starts its Java.
PYJNIUS = """
import jnius_config

def start_java(home):
    os.environ["JAVA_HOME"] = home
    jnius_config.add_options("--enable-native-access=ALL-UNNAMED")
    import jnius

def java_class(name):
    import jnius
    return jnius.autoclass(name)
"""
HOSTS = {"jpype": JPYPE, "jnius": PYJNIUS}


def _home() -> str:
    return load().java_home()


@pytest.mark.parametrize("order", ["it first", "jccl imported first"])
@pytest.mark.parametrize("host", HOSTS)
def test_the_java_of_somebody_else_is_used(host: str, order: str) -> None:
    if importlib.util.find_spec(host) is None:
        pytest.skip(f"{host} is not installed")
    code = f"""
    {"start_java(sys.argv[1])" if order == "it first" else ""}
    import jccl.core as nccl
    nccl.get_version()
    {"start_java(sys.argv[1])" if order != "it first" else ""}
    assert not load().jvm_started()
    comm = nccl.Communicator.init(1, 0, nccl.get_unique_id())
    add(comm)
    # Both speak to one JVM, on any thread.
    door = java_class("java.lang.System").getProperties().get("org.jccl.door")
    assert "org.jccl.abi.NcclApi" in str(door), door
    thread = threading.Thread(target=add, args=(comm,))
    thread.start()
    thread.join()
    java_class("java.lang.System").gc()
    add(comm)
    print("content")
    """
    # START imports jccl. In the first order the other one must start its Java before that.
    head = "import os, sys, threading\nimport numpy as np\n" + HOSTS[host]
    body = head + START[START.index("def add") :] + "\nfrom jccl.bindings import load\n"
    environment = dict(os.environ)
    if order == "it first":
        # A class path of several jars.
        (jar,) = (Path(jccl.__file__).parent / "_lib").glob("jccl-core-*.jar")
        environment["JCCL_JAR"] = f"{jar}:{jar}"
    done = subprocess.run(
        [sys.executable, "-c", body + "\n".join(line[4:] for line in code.splitlines()), _home()],
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "content\n"), done.stderr


def _old_java() -> str | None:
    """A Java on this machine that is too old for JCCL but not for JPype."""
    for release in sorted(Path("/usr/lib/jvm").glob("*/release")):
        version = re.search(r'JAVA_VERSION="(\d+)', release.read_text(errors="replace"))
        home = release.parent
        if version and 11 <= int(version[1]) < 25 and (home / "lib/server/libjvm.so").exists():
            return str(home)
    return None


def test_a_java_of_jpype_that_is_too_old_is_refused_by_a_sentence() -> None:
    pytest.importorskip("jpype", reason="JPype is not installed")
    old = _old_java()
    if old is None:
        pytest.skip("no Java older than 25 is installed in /usr/lib/jvm")
    code = """
    start_java(sys.argv[1])
    for _ in range(2):
        try:
            one_rank()
        except nccl.NCCLError as error:
            print(error.code, error.detail)
    assert str(jpype.JClass("java.lang.String")("goes on")) == "goes on"
    """
    lines = python("\n" + JPYPE + _flat(code), old).splitlines()
    assert len(lines) == 2
    for line in lines:
        assert re.match(r"2 somebody else has started Java \d+ in this process, and JCCL", line)
        assert line.endswith("have that one started, or use JCCL in a process of its own")


def test_java_that_jpype_has_ended_is_an_error_and_no_crash() -> None:
    pytest.importorskip("jpype", reason="JPype is not installed")
    code = """
    start_java(sys.argv[1])
    comm = one_rank()
    used, over = threading.Event(), threading.Event()
    def attached():
        add(comm)
        used.set()
        over.wait()
    thread = threading.Thread(target=attached)
    thread.start()
    used.wait()
    jpype.shutdownJVM()
    def refused():
        try:
            add(comm)
        except nccl.NCCLError as error:
            print(error.code, "in this process has ended it" in error.detail)
    refused()
    over.set()
    thread.join()
    thread = threading.Thread(target=refused)
    thread.start()
    thread.join()
    """
    assert python("\n" + JPYPE + _flat(code), _home()) == "2 True\n2 True\n"


def test_jpype_cannot_start_another_java_and_does_no_harm() -> None:
    pytest.importorskip("jpype", reason="JPype is not installed")
    code = """
    comm = one_rank()
    try:
        start_java(sys.argv[1])
    except Exception as error:
        print(type(error).__name__)
    add(comm)
    """
    assert python("\n" + JPYPE + _flat(code), _home()) == "RuntimeError\n"


def _flat(code: str) -> str:
    return "\n".join(line[4:] for line in code.splitlines())


# ---- Other interpreters ----


@pytest.mark.parametrize("kind", ["legacy", "isolated"])
def test_a_subinterpreter_is_refused_by_a_sentence(kind: str) -> None:
    inside = """
import jccl.bindings
try:
    jccl.bindings.load()
except ImportError as error:
    print(error, flush=True)
"""
    code = """
    kind = sys.argv[2]
    try:
        import _interpreters as interpreters
        make = lambda: interpreters.create(kind)
    except ImportError:
        import _xxsubinterpreters as interpreters
        make = lambda: interpreters.create(isolated=kind == "isolated")
    comm = one_rank()
    other = make()
    interpreters.run_string(other, sys.argv[1])
    interpreters.destroy(other)
    add(comm)
    """
    said = "JCCL works in the main interpreter of a process, and this is a subinterpreter: use it"
    assert python(code, inside, kind).startswith(said)


@pytest.mark.parametrize("kind", ["pypy", "free-threaded"])
def test_a_python_that_cannot_load_the_extension_is_refused(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "pypy":
        monkeypatch.setattr(sys, "implementation", types.SimpleNamespace(name="pypy"))
    else:
        monkeypatch.setattr(sys, "abiflags", "t")
    before = use(None)
    try:
        with pytest.raises(ImportError, match=rf"is {kind}, .*: run the program by .*CPython|GIL"):
            jccl.bindings.load()
    finally:
        use(before)


@pytest.mark.parametrize("kind", ["pypy", "free-threaded"])
def test_a_build_for_such_a_python_is_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("setuptools.setup", lambda **_: None)
    refuse = runpy.run_path(str(REPOSITORY / "setup.py"))["refuse_python"]
    refuse()
    if kind == "pypy":
        monkeypatch.setattr(sys, "implementation", types.SimpleNamespace(name="pypy"))
    else:
        monkeypatch.setattr("sysconfig.get_config_var", lambda _: 1)
    with pytest.raises(SystemExit, match=rf"JCCL cannot be built: this .* is {kind}"):
        refuse()


# ---- Signals ----


@pytest.mark.parametrize("before", ["ignored", "default", "handled"])
def test_sigpipe_stays_as_the_host_has_it(before: str) -> None:
    code = """
    def state():
        lines = open("/proc/self/status").read().splitlines()
        masks = dict(line.split(":") for line in lines if line.startswith("Sig"))
        return [int(masks[name], 16) >> number - 1 & 1
                for name in ("SigIgn", "SigCgt") for number in (signal.SIGPIPE, signal.SIGXFSZ)]
    heard = []
    match sys.argv[1]:
        case "default":
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        case "handled":
            signal.signal(signal.SIGPIPE, lambda *_: heard.append("pipe"))
    was = state()
    add(one_rank())
    assert state() == was, (was, state())
    reading, writing = os.pipe()
    os.close(reading)
    try:
        os.write(writing, b"x")
    except BrokenPipeError:
        heard.append("EPIPE")
    print(*sorted(heard))
    """
    # The default is that the signal ends the program, as when it writes to a `head` that has ended.
    status = -13 if before == "default" else 0
    heard = {"default": "", "ignored": "EPIPE\n", "handled": "EPIPE pipe\n"}[before]
    assert python(code, before, status=status) == heard


def test_handlers_that_come_after_java_are_called_and_java_goes_on() -> None:
    code = """
    comm = one_rank()
    heard = []
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE, signal.SIGCHLD, signal.SIGHUP):
        signal.signal(number, lambda number, _: heard.append(number))
        os.kill(os.getpid(), number)
        for _ in range(2000):
            add(comm)
        assert heard == [number], heard
        heard.clear()
    """
    python(code)


# ---- Workers ----


def test_workers_of_a_data_loader_come_and_go() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    code = """
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    comms = nccl.Communicator.init_all(2)
    other = threading.Thread(target=lambda: [add(one_rank()) for _ in range(200)])
    other.start()
    data = TensorDataset(torch.arange(64.0).reshape(32, 2))
    for epoch in range(2):
        seen = 0.0
        for (batch,) in DataLoader(data, batch_size=4, num_workers=2):
            add(one_rank())
            seen += float(batch.sum())
        assert seen == sum(range(64)), seen
    other.join()
    print("content")
    """
    assert python(code) == "content\n"


def test_no_child_gets_a_connection_that_is_being_made() -> None:
    code = """
    import stat
    os.environ["NCCL_SHM_DISABLE"] = os.environ["NCCL_P2P_DISABLE"] = "1"
    over = threading.Event()
    def connect():
        while not over.is_set():
            for comm in nccl.Communicator.init_all(3):
                comm.destroy()
    nccl.Communicator.init_all(2)
    threads = [threading.Thread(target=connect) for _ in range(2)]
    for thread in threads:
        thread.start()
    found = 0
    for _ in range(int(sys.argv[1])):
        child = os.fork()
        if child == 0:
            left = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
                    if os.path.exists(f"/proc/self/fd/{fd}")]
            os._exit(min(100, sum(name.startswith("socket:") for name in left)))
        found += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    over.set()
    for thread in threads:
        thread.join()
    print(found)
    """
    assert python(code, "300") == "0\n"


# ---- Java runs out of something ----


@pytest.mark.stress
def test_a_full_heap_is_a_sentence_and_destroying_makes_room() -> None:
    code = """
    comms = []
    x = np.ones(4)
    def fails(call):
        try:
            call()
        except nccl.NCCLError as error:
            assert error.code == 2, error
            assert "Java has no memory left" in error.detail, error
            assert "JCCL_JVM_HEAP" in error.detail, error
            return True
        return False
    while not fails(lambda: comms.append(one_rank())):
        assert len(comms) < 100000
    for _ in range(10):
        fails(one_rank)
    for comm in comms:
        comm.destroy()
    # All threads of the library are alive: these meet through one of them.
    for comm in nccl.Communicator.init_all(2):
        comm.destroy()
    print("works")
    """
    assert python(code, environment={"JCCL_JVM_HEAP": "6m"}) == "works\n"
