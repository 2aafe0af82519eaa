#!/usr/bin/env bash
# The packages with `unsafe` code under miri, and the threads of `sync` under ThreadSanitizer. Both need a nightly toolchain; a line that begins with
# SKIPPED names its missing components.
# usage: bash tests/sanitizers.sh        (from the root of the checkout; minutes)
set -euo pipefail
cd "$(dirname "$0")/.."
nightly=${WARPSHARD_NIGHTLY:-nightly}

if cargo "+$nightly" miri --version > /dev/null 2>&1; then
    # Stress tests are too slow in an interpreter.
    MIRIFLAGS="-Zmiri-disable-isolation" cargo "+$nightly" miri test --target-dir target/miri --package warpshard-host --package warpshard-sync \
        --lib --test barrier --test mailbox --test poison --test published --test worklist
    echo "miri: host and sync passed"
else
    echo "SKIPPED: miri: the toolchain $nightly does not have it (rustup component add --toolchain $nightly miri rust-src)"
fi

# The standard library is instrumented, too; otherwise accesses by its threads would be reported.
if [ -d "$(rustc "+$nightly" --print sysroot 2> /dev/null)/lib/rustlib/src/rust/library" ]; then
    host=$(rustc "+$nightly" -vV | sed -n 's/^host: //p')
    RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" TSAN_OPTIONS="halt_on_error=0 suppressions=$PWD/tests/sanitizers.txt" \
        cargo "+$nightly" test -Zbuild-std --quiet --target "$host" --target-dir target/thread-sanitizer --package warpshard-sync --tests --no-fail-fast
    echo "ThreadSanitizer: sync passed"
else
    echo "SKIPPED: ThreadSanitizer: there is no toolchain $nightly with the source of the standard library (rustup component add --toolchain $nightly rust-src)"
fi
