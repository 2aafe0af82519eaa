# Sourced by all.sh and nightly.sh: runs the steps of a gate and prints the time of each step.

# All features that can be built here, so that everything is built once with all of them.
features=$(bash tests/features.sh --list)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# Backtraces of expected panics are not useful.
unset RUST_BACKTRACE
taken=()
declare -A log_of

# Runs a command or a function, up to the first command that fails.
strictly() ( set -e; "$@" )

# Runs a step: `step NAME COMMAND ...`. A failing step shows its output; a passing step shows only the summaries of tests and the skipped tests.
step() {
    local name=$1 log="$logs/${#taken[@]}" code times
    shift
    log_of[$name]=$log
    printf '== %s\n' "$name"
    local TIMEFORMAT='%0R %0U %0S'
    # The status is checked afterwards: within a condition, bash would continue after a failing command of the step.
    set +e
    times=$( { time strictly "$@" > "$log" 2>&1; } 2>&1 )
    code=$?
    set -e
    read -r wall user system <<< "$(tail -n 1 <<< "$times")"
    if [ "$code" != 0 ]; then
        grep -vE '^test .* ok$' "$log" | tail -n 200 || true
        printf 'error: the step "%s" failed with %s\n' "$name" "$code" >&2
        exit 1
    fi
    grep -E '^ +(Running|Doc-tests)|^test result|SKIPPED|passed' "$log" | cut -c1-160 || true
    taken+=("$(printf '%-34s %5s s  %5s s of CPU' "$name" "$wall" "$((user + system))")")
}

# Prints the times of all steps.
finish() {
    printf '\n== times\n'
    printf '%s\n' "${taken[@]}"
}

# Fails if a step of cargo's tests, given by name, skipped a test needlessly. A test of a recorded trace prints SKIPPED if the trace is absent, and a
# test of CUDA sources if NVRTC is absent. No other test may be skipped, and no trace if the recorded traces are present.
no_needless_skips() {
    local allowed='SKIPPED: (recorded traces|CUDA sources): '
    [ ! -d "${WARPSHARD_REFERENCE:-../shared/reference}" ] || allowed='SKIPPED: CUDA sources: '
    if grep 'SKIPPED' "${log_of[$1]}" | grep -vE "$allowed"; then
        echo "error: the step \"$1\" skipped tests needlessly" >&2
        exit 1
    fi
}

# Fails unless a step, given by name, skipped tests because the recorded traces were hidden.
skips_hidden_traces() {
    if grep 'SKIPPED' "${log_of[$1]}" | grep -v 'SKIPPED: recorded traces: /nowhere'; then
        echo "error: the step \"$1\" skipped tests for another reason than hidden traces" >&2
        exit 1
    fi
    if ! grep -q 'SKIPPED: recorded traces: /nowhere' "${log_of[$1]}"; then
        echo "error: the recorded traces are hidden, but no test was skipped" >&2
        exit 1
    fi
}
