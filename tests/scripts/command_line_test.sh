#!/usr/bin/env bash
# usage: command_line_test.sh FEDHIVE CASE     tests the program's answers to command lines; runs one case, exits non-zero on
# failure
set -euo pipefail
# shellcheck source=tests/scripts/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
fedhive=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
mkdir configs
cat >configs/quick.yaml <<'END'
rounds: 1
workers: 0
device: cpu
data: {format: synthetic, num_train: 60, num_test: 20, partition: {clients: 2}}
model: {name: lr}
END

UnknownCommandNamesTheOneThatWasMeant() {
    while read -r typed meant; do
        expect 2 "$fedhive" "$typed" configs/quick.yaml
        says "fedhive: $typed: unknown command; did you mean '$meant'?"
    done <<'END'
train run
runn run
evalute evaluate
eval evaluate
config show-config
vaildate validate
swep sweep
END
    expect 2 "$fedhive" xyzzy
    says "fedhive: xyzzy: unknown command; commands: run, sweep, report"
    does_not_say "did you mean"
    does_not_say "mps-keeper"
    # Similar to no command, only to another program's word for one.
    expect 2 "$fedhive" trian
    says "fedhive: trian: unknown command; commands: run, sweep, report"
    expect 2 "$fedhive"
    says "a command is missing; commands: run, sweep"
    expect 2 "$fedhive" configs/quick.yaml
    says "did you mean 'fedhive run configs/quick.yaml'?"
}

UnknownOptionNamesTheOneThatWasMeant() {
    expect 2 "$fedhive" run configs/quick.yaml --sett rounds=2
    says "fedhive: --sett: unknown option; did you mean '--set'? fedhive run -h says more"
    expect 2 "$fedhive" sweep x.yaml --dryrun
    says "did you mean '--dry-run'?"
    expect 2 "$fedhive" doctor --xyzzy=3
    says "--xyzzy: unknown option; known options: --json; fedhive doctor -h says more"
    expect 2 "$fedhive" run configs/quick.yaml configs/other.yaml
    says "configs/other.yaml: unexpected argument; fedhive run takes config; fedhive run -h says more"
    expect 2 "$fedhive" evaluate --jsn
    says "did you mean '--json'?"
    expect 2 "$fedhive" --verson
    says "--verson: unknown option; did you mean '--version'? fedhive -h says more"
    expect 2 "$fedhive" validate
    says "config is required; fedhive validate -h says more"
    expect 2 "$fedhive" run configs/quick.yaml --until 0
    says "--until"
    expect 2 "$fedhive" completion csh
    says "csh"
    expect 0 "$fedhive" run -h
    says "--allow-other-bits"
    expect 0 "$fedhive" --version
    says "fedhive "
}

KeysOfTheConfigGoBySet() {
    expect 2 "$fedhive" run configs/quick.yaml --epochs 5
    says "fedhive: --epochs: unknown option; set keys of the config with --set training.local_epochs=5; fedhive run -h says more"
    expect 2 "$fedhive" run --lr=0.1 configs/quick.yaml
    says "--lr: unknown option; set keys of the config with --set training.optimizer.lr=0.1;"
    expect 2 "$fedhive" sweep x.yaml --rounds 3
    says "set keys of the config with --set rounds=3;"
    expect 2 "$fedhive" run configs/quick.yaml --gpu
    says "set keys of the config with --set device=VALUE;"
    expect 2 "$fedhive" evaluate results --rounds 3
    says "--rounds: unknown option; known options: --json;"
    while read -r given; do
        # shellcheck disable=SC2086  # split, as a shell splits it
        expect 2 "$fedhive" run configs/quick.yaml --set $given
        says "fedhive: --set $given: expected KEY=VALUE without spaces: --set rounds=3"
    done <<'END'
rounds 3
rounds = 3
rounds =3
rounds= 3
rounds: 3
END
    expect 2 "$fedhive" run --set=rounds 3 configs/quick.yaml
    says "without spaces: --set rounds=3"
    expect 2 "$fedhive" validate --set rounds configs/quick.yaml
    says "--set rounds: expected KEY=VALUE, such as training.batch_size=32"
    expect 2 "$fedhive" validate configs/quick.yaml --set 'strategy={name:' fedprox, proximal_mu: '1}' --json
    says "put a value with spaces in quotes: --set 'strategy={name: fedprox, proximal_mu: 1}'"
    expect 0 "$fedhive" validate configs/quick.yaml --set 'strategy={name: fedprox, proximal_mu: 1}'
}

EveryMistakeHasItsLine() {
    printf 'rounds: 0\ndata: {format: glyphs}\nmodle: {name: lr}\nthreads: many\n' >bad.yaml
    expect 2 "$fedhive" validate bad.yaml
    [ "$output" = "fedhive: bad.yaml:1: rounds: 0 is out of range; allowed: 1 to 1e9
         bad.yaml:3: modle: unknown key; did you mean 'model'?
         bad.yaml:4: threads: expected an integer, found 'many'; allowed: 1 to 1024" ] || fail "it said: $output"
    expect 2 "$fedhive" run configs/quik.yaml
    says "configs/quik.yaml: no such file; did you mean 'configs/quick.yaml'?"
    expect 2 "$fedhive" validate configs/quick.yaml --set data.partition.clients=61
    says ": data.partition: 61 clients, but only 60 examples; each client needs at least one"
    expect 2 "$fedhive" validate configs/quick.yaml --set 'data.normalize={mean: [0, 0], std: [1, 1]}'
    says ": data.normalize: mean has 2 values, but the data have 20 channels"
}

JsonSaysWhatTheLinesSay() {
    expect 0 "$fedhive" run configs/quick.yaml --out ended --quiet
    expect 0 "$fedhive" evaluate ended
    local lines=$output
    expect 0 "$fedhive" evaluate ended --json
    python3 - "$lines" "$output" <<'END' || fail "evaluate: $lines / $output"
import json, sys
lines, found = dict(line.split() for line in sys.argv[1].splitlines()), json.loads(sys.argv[2])
assert float(lines["test_loss"]) == found["test_loss"] and float(lines["test_accuracy"]) == found["test_accuracy"], found
assert lines["model_sha256"] == found["model_sha256"] and found["num_test"] == 20 and found["run"] == "ended", found
END
    expect 0 "$fedhive" validate configs/quick.yaml --json
    python3 - "$output" <<'END' || fail "validate: $output"
import json, sys
found = json.loads(sys.argv[1])
assert (found["valid"], found["num_clients"], found["num_train"], found["num_parameters"], found["mistakes"]) == (True, 2, 60, 210, []), found
END
    expect 2 "$fedhive" validate configs/quick.yaml --json --set rounds=0 --set thread=2
    python3 - "$output" <<'END' || fail "validate: $output"
import json, sys
found = json.loads(sys.argv[1])
assert found["valid"] is False and len(found["mistakes"]) == 2 and "did you mean 'threads'?" in found["mistakes"][1], found
END
    expect 0 "$fedhive" doctor
    lines=$output
    expect 0 "$fedhive" doctor --json
    python3 - "$lines" "$output" <<'END' || fail "doctor: $lines / $output"
import json, sys
found = json.loads(sys.argv[2])
for key in ("fedhive", "commit", "cpu", "libtorch", "cpu_capability", "cuda"):
    assert found[key] in sys.argv[1], key
assert f"{found['cores']} core" in sys.argv[1] and found["available_memory_bytes"] > 0
assert (found["ipc_works"] is None) == ("not probed" in sys.argv[1])
END
    expect 2 "$fedhive" evaluate ende
    says "did you mean 'ended'?"
}

# Bash's completions for these words; the last one is unfinished.
complete_words() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _fedhive
    output=" ${COMPREPLY[*]} "
}

CompletionKnowsEveryCommandAndOption() {
    # shellcheck disable=SC2317  # called by the script; bash defines it only during completion
    compopt() { :; }
    # shellcheck disable=SC1090
    source <("$fedhive" completion bash)
    [ "$(complete -p fedhive)" = "complete -F _fedhive fedhive" ] || fail "bash does not complete fedhive: $(complete -p fedhive)"
    complete_words fedhive ''
    local commands=$output command option
    for command in run sweep report bench validate show-config show-model partition privacy evaluate watch replay reference columns doctor completion data; do
        output=$commands
        says " $command "
        if [ "$command" = report ] || [ "$command" = bench ] || [ "$command" = data ]; then continue; fi  # their help is the script's
        expect 0 "$fedhive" "$command" -h
        local options
        options=$(grep -oE '^ +(-h,)?--[a-z-]+' <<<"$output" | grep -oE -- '--[a-z-]+')
        [ -n "$options" ] || fail "no option found in: $output"
        complete_words fedhive "$command" --
        for option in $options; do says " $option "; done
    done
    output=$commands
    does_not_say " worker "
    complete_words fedhive va
    [ "$output" = " validate " ] || fail "va gave $output"
    complete_words fedhive run --al
    [ "$output" = " --allow-other-bits " ] || fail "--al gave $output"
    complete_words fedhive run configs/q
    says " configs/quick.yaml "
    complete_words fedhive run configs/quick.yaml --set training.optimizer.m
    [ "$output" = " training.optimizer.momentum= " ] || fail "a key gave $output"
    mkdir results
    complete_words fedhive run --resume re
    [ "$output" = " results " ] || fail "a folder gave $output"
    complete_words fedhive run --until 1
    [ "$output" = "  " ] || fail "a number gave $output"
}

# completion_for SHELL: writes its script to a file that the shell can read.
completion_for() {
    "$fedhive" completion "$1" >"completion.$1"
    grep -q -- allow-other-bits "completion.$1" || fail "$1 does not know --allow-other-bits"
    command -v "$1" >/dev/null || {
        echo "[skipped] there is no $1 here to read its script"
        exit 0
    }
    expect 0 "$1" -n "completion.$1"
}

CompletionIsAScriptForZsh() {
    completion_for zsh
    expect 0 zsh -fc "autoload -U compinit; compinit -u -D; source completion.zsh; print \$_comps[fedhive]"
    says "_fedhive"
}

CompletionIsAScriptForFish() {
    completion_for fish
    expect 0 env HOME="$scratch" fish -c "source completion.fish; complete -C 'fedhive run --al'; complete -C 'fedhive va'"
    says "--allow-other-bits"
    says "validate"
}

case ${2:-} in
    UnknownCommandNamesTheOneThatWasMeant | UnknownOptionNamesTheOneThatWasMeant | KeysOfTheConfigGoBySet | EveryMistakeHasItsLine | \
        JsonSaysWhatTheLinesSay | CompletionKnowsEveryCommandAndOption | CompletionIsAScriptForZsh | CompletionIsAScriptForFish) "$2" ;;
    *) echo "usage: command_line_test.sh FEDHIVE CASE"; exit 2 ;;
esac
