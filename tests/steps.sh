# Sourced by all.sh and nightly.sh: runs the steps of a gate and prints what each took.

# The arguments of `cargo` that choose all features that can be built here, so that everything is built once and with all of them.
features=$(bash tests/features.sh --list)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# A backtrace of an expected panic is of no use.
unset RUST_BACKTRACE
taken=()

# Runs a step: `step NAME COMMAND ...`. Its output is shown when it fails; of one that passes only the closing lines of tests and what it skips.
step() {
    local name=$1 log="$logs/${#taken[@]}" code=0 times
    shift
    printf '== %s\n' "$name"
    local TIMEFORMAT='%0R %0U %0S'
    times=$( { time "$@" > "$log" 2>&1; } 2>&1 ) || code=$?
    read -r wall user system <<< "$(tail -n 1 <<< "$times")"
    if [ "$code" != 0 ]; then
        grep -vE '^test .* ok$' "$log" | tail -n 200
        printf 'error: the step "%s" failed with %s\n' "$name" "$code" >&2
        exit 1
    fi
    grep -E '^ +(Running|Doc-tests)|^test result|SKIPPED|passed' "$log" | cut -c1-160 || true
    taken+=("$(printf '%-34s %5s s  %5s s of CPU' "$name" "$wall" "$((user + system))")")
}

# Prints the times of all steps, and fails where a test was skipped without need.
finish() {
    printf '\n== times\n'
    printf '%s\n' "${taken[@]}"
    # A test of a recorded trace says SKIPPED where the trace is absent. No other test of cargo may be skipped, and none at all where the recorded
    # traces are present, but in the step that hides them.
    if grep -h 'SKIPPED' "$logs"/* | grep -q 'recorded traces: ' && [ -d "${WARPSHARD_REFERENCE:-../shared/reference}" ]; then
        if grep -h 'SKIPPED: recorded traces' "$logs"/* | grep -qv '/nowhere'; then
            echo "error: recorded traces are present, yet tests were skipped" >&2
            exit 1
        fi
    fi
}
