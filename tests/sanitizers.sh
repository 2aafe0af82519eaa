#!/usr/bin/env bash
# The packages with `unsafe` code under miri, and the threads of `sync` under ThreadSanitizer. Both need a nightly toolchain; what it lacks is named in a
# line that begins with SKIPPED.
# usage: bash tests/sanitizers.sh        (from the root of the checkout; minutes)
set -euo pipefail
cd "$(dirname "$0")/.."
nightly=${WARPSHARD_NIGHTLY:-nightly}

if cargo "+$nightly" miri --version > /dev/null 2>&1; then
    # Stress tests are for processors and not for an interpreter.
    MIRIFLAGS="-Zmiri-disable-isolation" cargo "+$nightly" miri test --target-dir target/miri --package warpshard-host --package warpshard-sync \
        --lib --test barrier --test mailbox --test poison --test published --test worklist
    echo "miri: host and sync passed"
else
    echo "SKIPPED: miri: the toolchain $nightly does not have it (rustup component add --toolchain $nightly miri rust-src)"
fi

if cargo "+$nightly" --version > /dev/null 2>&1; then
    host=$(rustc "+$nightly" -vV | sed -n 's/^host: //p')
    build=()
    # The standard library is instrumented, too, where its source is there.
    if [ -d "$(rustc "+$nightly" --print sysroot)/lib/rustlib/src/rust/library" ]; then build=(-Zbuild-std); fi
    RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" TSAN_OPTIONS="halt_on_error=0 suppressions=$PWD/tests/sanitizers.txt" \
        cargo "+$nightly" test "${build[@]}" --quiet --target "$host" --target-dir target/thread-sanitizer --package warpshard-sync --tests --no-fail-fast
    echo "ThreadSanitizer: sync passed"
else
    echo "SKIPPED: ThreadSanitizer: there is no toolchain $nightly"
fi
