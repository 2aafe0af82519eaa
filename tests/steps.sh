# Sourced by all.sh and nightly.sh: runs the steps of a gate and prints what each took.

# The arguments of `cargo` that choose all features that can be built here, so that everything is built once and with all of them.
features=$(bash tests/features.sh --list)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# A backtrace of an expected panic is of no use.
unset RUST_BACKTRACE
taken=()
declare -A log_of

# Runs a command, also a function of several, up to the first that fails.
strictly() ( set -e; "$@" )

# Runs a step: `step NAME COMMAND ...`. Its output is shown when it fails; of one that passes only the closing lines of tests and what it skips.
step() {
    local name=$1 log="$logs/${#taken[@]}" code times
    shift
    log_of[$name]=$log
    printf '== %s\n' "$name"
    local TIMEFORMAT='%0R %0U %0S'
    # The status is looked at afterwards: in a condition, bash would go on after the first command of a step that fails.
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

# Fails where a step of cargo's tests, given by name, skipped something without need. A test of a recorded trace says SKIPPED where the trace is
# absent, and one of CUDA sources where NVRTC is; nothing else may be skipped, and no trace where the recorded traces are present.
no_needless_skips() {
    local allowed='SKIPPED: (recorded traces|CUDA sources): '
    [ ! -d "${WARPSHARD_REFERENCE:-../shared/reference}" ] || allowed='SKIPPED: CUDA sources: '
    if grep 'SKIPPED' "${log_of[$1]}" | grep -vE "$allowed"; then
        echo "error: the step \"$1\" skipped tests without need" >&2
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
        echo "error: the recorded traces were to be hidden, yet no test was skipped" >&2
        exit 1
    fi
}
