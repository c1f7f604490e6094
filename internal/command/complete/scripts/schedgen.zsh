#compdef schedgen
# Completion of schedgen for zsh.

_schedgen() {
    local -a texts shown
    local line files= text
    while IFS= read -r line; do
        case $line in
        :files) files=_files ;;
        :directories) files='_files -/' ;;
        *)
            text=${line%%$'\t'*}
            texts+=("$text")
            if [[ $line == *$'\t'?* ]]; then
                shown+=("$text -- ${line#*$'\t'}")
            else
                shown+=("$text")
            fi
            ;;
        esac
    done < <("${(Q)words[1]}" complete -- "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)
    local ret=1
    (($#texts)) && compadd -l -d shown -a texts && ret=0
    if [[ -n $files ]]; then
        [[ $PREFIX == --*=* ]] && compset -P '*='
        ${=files} && ret=0
    fi
    return ret
}

if [[ $funcstack[1] == _schedgen ]]; then
    _schedgen "$@"
else
    compdef _schedgen schedgen
fi
