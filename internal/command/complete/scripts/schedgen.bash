# Completion of schedgen for bash.

_schedgen() {
    # bash splits words at = and :, too. A piece without a blank before it belongs to
    # the word before.
    local words=() last=-1 rest=${COMP_LINE:0:COMP_POINT} trimmed i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        trimmed=${rest#"${rest%%[![:space:]]*}"}
        local piece=${COMP_WORDS[i]}
        ((i == COMP_CWORD)) && piece=$trimmed
        if ((last > 0)) && [[ $trimmed == "$rest" ]]; then
            words[last]+=$piece
        else
            words[++last]=$piece
        fi
        rest=${trimmed#"$piece"}
    done

    # bash replaces only the part of the last word after = or :.
    local word=${words[last]} before=
    if [[ $word == *[=:]* ]]; then
        before=${word%"${word##*[=:]}"}
    fi

    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :files) _schedgen_paths -f "${word#"$before"}" ;;
        :directories) _schedgen_paths -d "${word#"$before"}" ;;
        *)
            line=${line%%$'\t'*}
            COMPREPLY+=("${line#"$before"}")
            ;;
        esac
    done < <("${words[0]/#\~/$HOME}" complete -- "${words[@]:1}" 2>/dev/null)
}

_schedgen_paths() {
    local path paths=()
    while IFS= read -r path; do
        paths+=("$path")
    done < <(compgen "$1" -- "$2")
    if ((${#paths[@]} > 0)); then
        compopt -o filenames 2>/dev/null
        COMPREPLY+=("${paths[@]}")
    fi
}

complete -F _schedgen schedgen
