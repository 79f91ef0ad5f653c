# shellcheck shell=bash
# scripts/setup --link: `fedhive` as a command of its own. Sourced, never run; uses say and die.

on_path() { case ":$PATH:" in *":$1:"*) return 0 ;; *) return 1 ;; esac }

# put_link PROGRAM: a link to it into $FEDHIVE_BIN or ~/.local/bin. What is there and is not that link stays as it is.
put_link() {
    local program=$1 folder=${FEDHIVE_BIN:-$HOME/.local/bin} link
    link=$folder/fedhive
    if [ "$(readlink "$link" 2>/dev/null)" = "$program" ]; then
        say "$link links to $program already."
    elif [ -L "$link" ] || [ -e "$link" ]; then
        local what="is no link of this checkout"
        if [ -L "$link" ]; then what="links to $(readlink "$link")"; fi
        die "$link $what, so it stays. Take it away, or name another folder: FEDHIVE_BIN=FOLDER scripts/setup --link"
    else
        { mkdir -p "$folder" && ln -s "$program" "$link"; } ||
            die "$link cannot be made. Name another folder: FEDHIVE_BIN=FOLDER scripts/setup --link"
        say "$link now links to $program."
    fi
    if on_path "$folder"; then
        say "$folder is on PATH: fedhive run configs/quickstart.yaml"
    else
        say "$folder is not on PATH. This shell gets it by: export PATH=\"$folder:\$PATH\"    Put the line into ~/.profile to keep it."
    fi
}
