#!/bin/bash
# Times Reductions.fold against C and prints the tables of README.md. Needs a compiler, JDK 25 as
# `java` and `javac` (or JAVA_HOME) and the built core: mvn -q package -DskipTests
set -e
cd "$(dirname "$0")/.."
bin=${JAVA_HOME:+$JAVA_HOME/bin/}
out=build/bench
mkdir -p $out
${CC:-cc} -O3 -march=native -fPIC -shared -o $out/libfold.so bench/c/fold.c
"${bin}javac" -proc:none --add-modules jdk.incubator.vector -Xlint:-incubating \
    -cp java-core/target/classes -d $out bench/java/org/jccl/reduce/FoldBench.java \
    tests-java/src/test/java/org/jccl/reduce/Fold.java \
    tests-java/src/test/java/org/jccl/reduce/VectorFold.java
"${bin}java" --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED \
    -cp java-core/target/classes:$out org.jccl.reduce.FoldBench $out/libfold.so "$@"
