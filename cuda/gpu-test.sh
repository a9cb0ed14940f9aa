#!/bin/bash
# Runs JCCL's tests of devices, NVIDIA's nccl-tests and torch on a machine with GPUs. That machine
# needs neither Java nor a network: what it needs is packed here and travels with the project.
#
# Usage: cuda/gpu-test.sh pack                                  builds; fills build/gpu (40 MiB)
#        cuda/gpu-test.sh run [OPTION...]                       there: runs the tests, prints a table
#
#   --torch                torch's backends "jccl" and, on JCCL in place of NVIDIA's library, "nccl";
#                          where there are two GPUs, compared with NVIDIA's
#   --eager                what a call of torch costs the host on JCCL and on NVIDIA's library;
#                          needs two GPUs
#   --rails COUNT          scenario S1 by torch's backend "nccl" on JCCL, in so many fresh runs
#   --nccl-tests FOLDER    the programs of nccl-tests (all_reduce_perf and so on), linked to
#                          libnccl.so.2, beside NVIDIA's library; one process drives all GPUs
#   --processes COMMAND    the same with a process for each GPU: COMMAND starts them, as in
#                          "mpirun -np 2"; the programs were built with MPI=1
#   --programs "NAME..."   only these of nccl-tests, as in "sendrecv alltoall"
#   --kernels              kernels for more ranks than there are GPUs, if the machine has nvcc
#   --skip-tests           none of JUnit's tests, since one call of all may take too long
set -euo pipefail
self=$(realpath "$0")
from=$PWD
cd "$(dirname "$self")/.."
kit=$PWD/build/gpu
classes="DeviceTest OneRankTest DeviceMatrixTest DeviceTransfersTest DeviceOrderTest DeviceFailureTest ScenarioS1Test FuturesTest SplitTest InitTest"
limit_s=120
# Less, so that an init that does not end says whom it waits for.
init_limit_s=60

usage() {
    sed -n 's/^# \{0,1\}//p' "$self" | sed -n '2,19p'
    exit "$1"
}

pack() {
    eval "$(python3 -c '
import os, shlex, sys
sys.path.insert(0, ".ci")
import jdk
home = jdk.find()
if home is None:
    sys.exit(jdk.WHAT_TO_INSTALL)
for name, value in {**jdk.maven_environment(home), "JAVA_HOME": str(home)}.items():
    if os.environ.get(name) != value:
        print(f"export {name}={shlex.quote(value)}")
')"
    rm -rf "$kit"
    mkdir -p "$kit/lib"
    cuda/kernels.sh
    echo "building the jars and the tests"
    mvn -q -B -pl java-core,cuda,tests-java -DskipTests package dependency:copy-dependencies \
        -DincludeScope=runtime -DexcludeGroupIds=org.jccl -DoutputDirectory="$kit/lib"
    cp java-core/target/jccl-core-*.jar cuda/target/jccl-cuda-*.jar "$kit/lib"
    "$JAVA_HOME/bin/jar" -c -f "$kit/lib/tests.jar" -C tests-java/target/test-classes . \
        -C cuda/target/test-classes .
    mvn -q -B -N dependency:copy@junit
    cp build/tools/junit-console.jar "$kit/lib"
    make -s -C java-core/src/main/c OUT="$kit/c" \
        VERSION="$(sed -n 's:.*<revision>\(.*\)</revision>.*:\1:p' pom.xml)" \
        PYTHON_INCLUDE="$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')"
    mv "$kit"/c/{libnccl.so.2,libjccl.so,_jccl.abi3.so} "$kit/lib"
    rm -r "$kit/c"
    echo "linking a Java runtime"
    "$JAVA_HOME/bin/jlink" --strip-debug --no-header-files --no-man-pages --compress zip-6 \
        --output "$kit/jdk" --add-modules \
        java.base,java.logging,java.management,java.xml,jdk.incubator.vector,jdk.unsupported
    # As one file: a copy may lose the permissions of many.
    tar -c -z -f "$kit/jdk.tgz" -C "$kit" jdk
    rm -r "$kit/jdk"
    du -sh "$kit" | sed 's/\s.*/ in build\/gpu/'
}

# junit CLASS: one line of the table
junit() {
    local log=$kit/log/$1.log status=0
    local start=$SECONDS
    # Ranks of a process that share a GPU have to be allowed, and need a queue for each of their streams.
    JCCL_TEST_DEVICE=cuda CUDA_DEVICE_MAX_CONNECTIONS=32 NCCL_MULTI_RANK_GPU_ENABLE=1 \
        timeout "$limit_s" "$kit/jdk/bin/java" \
        -XX:+UseSerialGC -ea -Djccl.gpus="$gpus" --add-modules=jdk.incubator.vector --enable-native-access=ALL-UNNAMED \
        --add-opens=java.base/java.lang=ALL-UNNAMED -cp "$kit/lib/*" \
        org.junit.platform.console.ConsoleLauncher execute --disable-banner --details=testfeed \
        --disable-ansi-colors -T stress -c "$2" >"$log" 2>&1 || status=$?
    printf '%-22s %3d ok %3d failed %3d skipped %4d s  %s\n' "$1" \
        "$(grep -c ':: SUCCESSFUL' "$log")" "$(grep -c ':: FAILED' "$log")" \
        "$(grep -c ':: ABORTED' "$log")" $((SECONDS - start)) \
        "$([ $status = 0 ] || echo "status $status, build/gpu/log/$1.log")"
    return $status
}

# torch NAME RANKS SCRIPT ARGUMENT...: what the script prints in the end; 0 ranks: it starts them
torch() {
    local log=$kit/log/$1.log ranks=$2 launcher=""
    shift 2
    [ "$ranks" = 0 ] || launcher="-m torch.distributed.run --standalone --nproc-per-node $ranks"
    OMP_NUM_THREADS=2 timeout "$limit_s" python3 $launcher "$@" >"$log" 2>&1 || return 1
    grep -E '^(losses:|eager:|late:|killed:|handle:|aborted:|[0-9]+ (steps|cases))' "$log"
}

# by_jccl COMMAND...: torch's backend "jccl"
by_jccl() {
    local -x BACKEND=jccl PYTHONPATH=$kit/python-pkg JCCL_JAVA_HOME=$kit/jdk JCCL_JAR=$jar
    local -x CUDA_DEVICE_MAX_CONNECTIONS=32 JCCL_INIT_TIMEOUT=$init_limit_s
    "$@"
}

# together COMMAND...: side by side, since most of their time is that of starting
together() {
    local each status=0
    local running=()
    for each in "$@"; do
        $each &
        running+=($!)
    done
    for each in "${running[@]}"; do
        wait "$each" || status=1
    done
    return $status
}

# tensors RANKS: every operation on tensors of GPUs
tensors() {
    local said
    said=$(by_jccl torch "tensors-$1" "$1" cuda/src/test/python/tensors.py)
    [ -n "$said" ] && echo "torch backend jccl, $1 ranks on $gpus GPU(s): $said" ||
        { echo "torch backend jccl, $1 ranks: FAILED; build/gpu/log/tensors-$1.log"; return 1; }
}

# core RANKS: jccl.core on GPUs
core() {
    local said
    said=$(by_jccl torch "core-$1" "$1" cuda/src/test/python/core.py)
    [ -n "$said" ] && echo "jccl.core, $1 ranks on $gpus GPU(s): $said" ||
        { echo "jccl.core, $1 ranks: FAILED; build/gpu/log/core-$1.log"; return 1; }
}

# lost: what a rank learns of one that is late or lost
lost() {
    by_jccl torch lost 0 cuda/src/test/python/lost.py | cut -c1-160 | sed 's/^/torch backend jccl, /'
    [ "$(grep -c 'rank 1\|was aborted' "$kit/log/lost.log")" = 4 ]
}

# on_jccl COMMAND...: on JCCL in place of NVIDIA's library
on_jccl() {
    local -x LD_PRELOAD=$kit/lib/libnccl.so.2 JCCL_DEVICE=cuda JCCL_JAVA_HOME=$kit/jdk JCCL_JAR=$jar
    local -x LD_LIBRARY_PATH=$kit/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    local -x CUDA_DEVICE_MAX_CONNECTIONS=32 JCCL_INIT_TIMEOUT=$init_limit_s
    "$@"
}

# train HOW: compares the losses with those on NVIDIA's library
train() {
    local ours backend theirs scripts=cuda/src/test/python
    ours=$(on_jccl torch "$1-jccl" 2 $scripts/train.py "$1")
    backend=$(by_jccl torch "$1-backend" 2 $scripts/train.py "$1")
    theirs=$(torch "$1-nvidia" 2 $scripts/train.py "$1")
    [ -n "$ours" ] && [ "$ours" = "$theirs" ] && [ "$backend" = "$theirs" ] &&
        echo "torch $1, 2 ranks: $ours by both backends, as on NVIDIA's" ||
        { echo "torch $1: FAILED: $ours; backend jccl: $backend; NVIDIA's: $theirs; build/gpu/log/$1-*.log"
            return 1; }
}

kernels() {
    local nvcc name said status=0
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    [ -x "$nvcc" ] || { echo "kernels: skipped, since there is no nvcc"; return; }
    rm -f "$kit"/{lines,pieces}_test
    for name in lines pieces; do
        "$nvcc" -std=c++17 -O3 --fmad=false -arch=native -I cuda/src/main/cuda \
            -o "$kit/${name}_test" "cuda/src/test/cuda/${name}_test.cu" &
    done
    wait
    for name in lines pieces; do
        said=$(CUDA_DEVICE_MAX_CONNECTIONS=32 timeout "$limit_s" "$kit/${name}_test") && echo "kernels in $name, $gpus GPU(s): $said" ||
            { echo "kernels in $name: FAILED: $said"; status=1; }
    done
    return $status
}

# rails [NUMBER]: a fresh run of scenario S1; what its ranks have logged stays if it fails
rails() {
    local said name=rails${1:+-$1}
    rm -f "$kit/log/$name-"*.txt
    said=$(TORCH_NCCL_USE_COMM_NONBLOCKING=1 NCCL_DEBUG=INFO NCCL_DEBUG_FILE="$kit/log/$name-%p.txt" \
        on_jccl torch "$name" 4 cuda/src/test/python/rails.py)
    if [ -n "$said" ]; then
        echo "torch $name, 4 ranks on $gpus GPU(s): $said"
        rm -f "$kit/log/$name-"*.txt
    else
        echo "torch $name: FAILED; build/gpu/log/$name.log"
        tail -q -n 1 "$kit/log/$name-"*.txt | cut -c1-300
        return 1
    fi
}

# fresh_rails COUNT: two at once
fresh_rails() {
    local number status=0
    for ((number = 1; number <= $1; number += 2)); do
        local jobs=("rails $number" "rails $((number + 1))")
        together "${jobs[@]:0:$1 - number + 1}" || status=1
    done
    return $status
}

# as_shipped COMMAND...: with as few queues as CUDA has by default; more make each call cost more
as_shipped() {
    unset CUDA_DEVICE_MAX_CONNECTIONS
    "$@"
}

# eager: what a call costs on JCCL and on NVIDIA's library: three runs each, in turns
eager() {
    local turn name script=cuda/src/test/python/eager.py
    rm -f "$kit"/log/eager-*.log
    for turn in 1 2 3; do
        if ! on_jccl as_shipped torch eager-jccl-$turn 2 $script >/dev/null ||
            ! by_jccl as_shipped torch eager-backend-$turn 2 $script >/dev/null ||
            ! torch eager-nvidia-$turn 2 $script >/dev/null; then
            echo "torch all_reduce, 2 processes: FAILED; build/gpu/log/eager-*-$turn.log"
            return 1
        fi
    done
    for name in jccl backend nvidia; do
        printf 'torch all_reduce, 2 processes, %-7s %s\n' $name "$(python3 $script "$kit/log/eager-$name"-*.log)"
    done
}

# perf PROGRAM OPTION...: one line of the table
perf() {
    local name=$1 log=$kit/log/$1.log
    shift
    on_jccl timeout "$limit_s" "$programs/$name" "$@" >"$log" 2>&1
    local status=$?
    awk -v name="$name $*" -v status=$status '
        !/^#/ && NF > 12 { rows++; wrong += $9 + $13; if (rows < 9) us = us " " $6 }
        END { printf "%-48s %3d rows, %d wrong; us:%s%s\n", name, rows, wrong, us,
              status ? "; status " status : ""; exit status || wrong || !rows }' "$log"
}

# compare LAUNCHER OPTION...: a table of the programs on JCCL and on NVIDIA's library
compare() {
    local launcher=$1 name status=0 ours theirs="env NCCL_NVLS_ENABLE=0"
    shift
    ours=$(on_jccl bash -c 'for name in LD_PRELOAD LD_LIBRARY_PATH JCCL_DEVICE JCCL_JAVA_HOME JCCL_JAR; do
        printf "%s=%s " $name "${!name}"; done')
    echo "| program | size | JCCL | in a graph | NVIDIA | in a graph | graph / better | without | medians |"
    echo "|---|---|---|---|---|---|---|---|---|"
    for name in $names; do
        [ -x "$programs/${name}_perf" ] || continue
        python3 cuda/src/test/python/table.py "$name" "$launcher env $ours" "$launcher $theirs" \
            "$programs/${name}_perf" "$@" || status=1
    done
    return $status
}

run() {
    [ -f "$kit/jdk.tgz" ] || { echo "build/gpu is empty: run cuda/gpu-test.sh pack first" >&2; exit 2; }
    local programs="" launcher="" with_torch="" with_eager="" with_kernels="" tests=yes fresh=0
    local names="all_reduce all_gather reduce_scatter alltoall broadcast reduce gather scatter sendrecv"
    names="$names alltoallv hypercube"
    while [ $# -gt 0 ]; do
        case $1 in
            --nccl-tests)
                programs=$(cd "$from" && realpath "${2:?--nccl-tests needs a folder}")
                shift
                ;;
            --processes)
                launcher=${2:?--processes needs a command}
                shift
                ;;
            --programs)
                names=${2:?--programs needs names}
                shift
                ;;
            --rails)
                fresh=${2:?--rails needs a count}
                [[ $fresh =~ ^[1-9][0-9]*$ ]] || { echo "--rails $fresh: not a count" >&2; exit 2; }
                shift
                ;;
            --torch) with_torch=yes ;;
            --eager) with_eager=yes ;;
            --kernels) with_kernels=yes ;;
            --skip-tests) tests="" ;;
            *) usage 2 ;;
        esac
        shift
    done
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
    local gpus failed=0 jar=""
    gpus=$(nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)
    [ -d "$kit/jdk" ] || tar -x -z -f "$kit/jdk.tgz" -C "$kit"
    mkdir -p "$kit/log"
    for name in jccl-core jccl-cuda jcuda; do
        for file in "$kit/lib/$name"-*.jar; do
            jar=$jar${jar:+:}$file
        done
    done
    for class in ${tests:+org.jccl.cuda.CudaProviderTest org.jccl.cuda.SlotMemoryTest}; do
        junit "${class##*.}" "$class" || failed=1
    done
    for class in ${tests:+$classes}; do
        junit "$class" "org.jccl.suite.$class" || failed=1
    done
    if [ -n "$with_kernels" ]; then
        kernels || failed=1
    fi
    if [ -n "$with_torch$with_eager" ]; then
        # The package finds its version two folders above, and its library below.
        rm -rf "$kit/python-pkg"
        mkdir "$kit/python-pkg"
        cp -r python-pkg/jccl "$kit/python-pkg"
        mkdir -p "$kit/python-pkg/jccl/_lib"
        cp "$kit"/lib/{libjccl.so,_jccl.abi3.so,jccl-core-*.jar} "$kit/python-pkg/jccl/_lib"
        cp pom.xml "$kit"
    fi
    if [ -n "$with_torch" ]; then
        together "tensors 2" "core 2" "tensors 4" "core 4" || failed=1
        lost || failed=1
        if [ "$gpus" -gt 1 ]; then
            together rails "train ddp" "train fsdp" || failed=1
        else
            rails || failed=1
        fi
    fi
    if [ -n "$with_eager" ]; then
        eager || failed=1
    fi
    fresh_rails "$fresh" || failed=1
    if [ -n "$programs" ]; then
        if [ -n "$launcher" ]; then
            echo "a process for each GPU: $launcher"
            compare "$launcher" -g 1 || failed=1
        else
            echo "one process for $gpus GPU(s)"
            compare "" -g "$gpus" || failed=1
            perf all_reduce_perf -g "$gpus" -b 64K -e 64K -n 1 -d all -o all || failed=1
        fi
    fi
    return $failed
}

case ${1:-} in
    pack) pack ;;
    run)
        shift
        set +e
        run "$@"
        ;;
    -h | --help) usage 0 ;;
    *) usage 2 ;;
esac
