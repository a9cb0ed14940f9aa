#!/bin/bash
# Compiles the kernels in src/main/cuda into build/kernels, from where Maven puts them into the jar
# of the module. Without them everything works, but the data of several ranks goes through the host.
#
# Usage: cuda/kernels.sh [ARCHITECTURE...]    90 (H100, H200) if there is none, or newer ones; if
#                                              several, the driver compiles the last for what is newer
#
# nvcc is that of CUDA_HOME, of PATH or of /usr/local/cuda, or else comes from NVIDIA's packages for
# pip (0.3 GB), into build/nvcc.
set -euo pipefail
cd "$(dirname "$0")/.."
version=13.0
packages="nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl"

find_nvcc() {
    local each
    for each in "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
        if [ -n "$each" ] && [ -x "$each" ]; then
            echo "$each"
            return
        fi
    done
    find build/nvcc -path '*/bin/nvcc' 2>/dev/null | head -1 || true
}

case ${1:-} in -h | --help)
    sed -n '2,10s/^# \{0,1\}//p' "$0"
    exit
    ;;
esac
nvcc=$(find_nvcc)
if [ -z "$nvcc" ]; then
    echo "installing nvcc $version into build/nvcc"
    python3 -m venv build/nvcc
    # shellcheck disable=SC2086
    build/nvcc/bin/pip install -q $(printf "%s==$version.* " $packages)
    nvcc=$(find_nvcc)
fi
out=build/kernels/org/jccl/cuda
mkdir -p "$out"
code=""
for architecture in "${@:-90}"; do
    code="$code -gencode arch=compute_$architecture,code=sm_$architecture"
done
if [ $# -gt 1 ]; then
    code="$code -gencode arch=compute_${*: -1},code=compute_${*: -1}"
fi
images=()
running=()
for source in cuda/src/main/cuda/*.cu; do
    image=$out/$(basename "$source" .cu).fatbin
    # shellcheck disable=SC2086
    "$nvcc" -std=c++17 -O3 --fmad=false $code -fatbin -o "$image" "$source" &
    images+=("$image")
    running+=($!)
done
for each in "${running[@]}"; do
    wait "$each"
done
for image in "${images[@]}"; do
    echo "$image: $(($(stat -c %s "$image") / 1024)) KiB for sm_$(IFS=,; echo "${*:-90}")"
done
