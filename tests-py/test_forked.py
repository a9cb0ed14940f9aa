"""JCCL refuses a child that was forked after Java had started, whoever had started it."""

from __future__ import annotations

import importlib.util

import jccl.bindings
import pytest
from cprogram import LIBRARIES
from guest import python
from test_neighbours import HOSTS

# A call in such a child once hung: SIGALRM ends it.
CHILD = """
def load(name):
    library = ctypes.CDLL(sys.argv[1] + "/" + name)
    library.ncclGetLastError.restype = ctypes.c_char_p
    return library

def in_child(body):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            body()
            sys.stdout.flush()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def is_refused(library):
    # A thread of the child's own is no sign of life.
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    memory = ctypes.c_void_p()
    for call in (lambda: library.ncclMemAlloc(ctypes.byref(memory), 1),
                 lambda: library.ncclGetUniqueId((ctypes.c_char * 128)()),
                 lambda: library.ncclGroupStart()):
        assert call() == 5
        said = library.ncclGetLastError(None).decode()
        assert "a child made by fork after JCCL was used" in said, said
        assert "spawn" in said and "jccl.run" in said, said
    version = ctypes.c_int()
    assert library.ncclGetVersion(ctypes.byref(version)) == 0
    assert library.jcclJavaStarted() == 0

def works(library):
    assert library.ncclGetUniqueId((ctypes.c_char * 128)()) == 0, library.ncclGetLastError(None)
"""


def _run(code: str, *arguments: str) -> str:
    return python(CHILD + _flat(code), str(LIBRARIES), *arguments)


@pytest.mark.parametrize("loaded", ["before", "after"])
@pytest.mark.parametrize("first", ["libjccl.so", "libnccl.so.2"])
def test_a_child_that_calls_the_other_library_first_is_refused(first: str, loaded: str) -> None:
    other = "libnccl.so.2" if first == "libjccl.so" else "libjccl.so"
    code = """
    used, loaded, second = sys.argv[2:5]
    early = load(second) if loaded == "before" else None
    works(load(used))
    print(in_child(lambda: is_refused(early or load(second))))
    # So is a child of a thread that has nothing to do with Java, and a child's child.
    def of_thread():
        print(in_child(lambda: print(in_child(lambda: is_refused(load(second))), flush=True)))
    thread = threading.Thread(target=of_thread)
    thread.start()
    thread.join()
    works(load(second))
    """
    assert _run(code, first, loaded, other) == "0\n0\n0\n"


@pytest.mark.parametrize("library", ["libjccl.so", "libnccl.so.2"])
@pytest.mark.parametrize("host", HOSTS)
def test_a_child_of_somebody_elses_java_is_refused(host: str, library: str) -> None:
    if importlib.util.find_spec(host) is None:
        pytest.skip(f"{host} is not installed")
    code = """
    start_java(sys.argv[2])
    print(in_child(lambda: is_refused(load(sys.argv[3]))))
    works(load(sys.argv[3]))
    """
    home = jccl.bindings.load().java_home()
    assert python(HOSTS[host] + CHILD + _flat(code), str(LIBRARIES), home, library) == "0\n"


def test_java_that_a_child_starts_itself_is_used() -> None:
    pytest.importorskip("jpype", reason="JPype is not installed")
    code = """
    library = load("libnccl.so.2")
    version = ctypes.c_int()
    assert library.ncclGetVersion(ctypes.byref(version)) == 0
    def starts_java():
        start_java(sys.argv[2])
        works(library)
    print(in_child(starts_java), in_child(lambda: works(library)))
    works(library)
    """
    home = jccl.bindings.load().java_home()
    assert python(HOSTS["jpype"] + CHILD + _flat(code), str(LIBRARIES), home) == "0 0\n"


def _flat(code: str) -> str:
    return "\n".join(line[4:] for line in code.splitlines())
