"""Jep in Java programs that know nothing of JCCL."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
from pathlib import Path

import jccl.bindings
import pytest
from embedded import java

_PROGRAM = """
import jep.*;

class Program {
    public static void main(String[] words) throws Exception {
        MainInterpreter.setJepLibraryPath(words[0]);
        MainInterpreter.setInitParams(PyConfig.python().setProgramName(words[1]));
        try (Interpreter own = new INTERPRETER()) {
            own.exec(words[2]);
        }
    }
}
"""


def _in_jep(interpreter: str, jars: list[Path], code: str, folder: Path) -> str:
    """What a program prints in Jep, started by a Java program that knows nothing of JCCL."""
    spec = importlib.util.find_spec("jep")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    package = Path(spec.submodule_search_locations[0])
    source = folder / "Program.java"
    source.write_text(_PROGRAM.replace("INTERPRETER", interpreter), encoding="utf-8")
    path = ":".join(map(str, [*package.glob("jep-*.jar"), *jars]))
    options = ["--enable-native-access=ALL-UNNAMED", "-cp", path, str(source)]
    words = [str(package / "libjep.so"), sys.executable, code]
    done = subprocess.run(
        [java()[0], *options, *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


_JARS = list(Path(jccl.bindings.__file__).parent.parent.glob("_lib/jccl-core-*.jar"))


@pytest.mark.parametrize("jars", [_JARS, []], ids=["jar", "no-jar"])
def test_a_java_program_that_runs_jep_needs_no_jar_of_ours(
    jars: list[Path], tmp_path: Path
) -> None:
    code = textwrap.dedent("""
        import array
        import jccl.core as c
        from jccl.bindings import load
        with c.Communicator.init(1, 0, c.get_unique_id()) as comm:
            x = array.array("f", [1, 2])
            comm.allreduce(x, x, c.SUM)
        print(type(load()).__name__, x.tolist())
    """)
    kind = "GuestBinding" if jars else "module"
    assert _in_jep("SharedInterpreter", jars, code, tmp_path) == f"{kind} [1.0, 2.0]\n"


def test_a_subinterpreter_of_jep_is_refused(tmp_path: Path) -> None:
    code = textwrap.dedent("""
        import jccl.core
        try:
            jccl.core.get_unique_id()
        except ImportError as error:
            print(error)
    """)
    said = _in_jep("SubInterpreter", _JARS, code, tmp_path)
    assert "this is a SubInterpreter of Jep" in said
    assert "use SharedInterpreter" in said
