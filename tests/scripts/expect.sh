# shellcheck shell=bash
# What cases in shell say of a command: sourced by the files beside it.

fail() {
    echo "failed: $*"
    exit 1
}
# expect STATUS COMMAND…: its output is left in $output
expect() {
    local wanted=$1 status=0
    shift
    output=$("$@" 2>&1 </dev/null) || status=$?
    [ "$status" = "$wanted" ] || fail "$*: exit status $status, expected $wanted; it said: $output"
}
says() { [[ $output == *"$1"* ]] || fail "expected '$1' in: $output"; }
does_not_say() { [[ $output != *"$1"* ]] || fail "did not expect '$1' in: $output"; }
