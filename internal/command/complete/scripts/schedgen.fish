# Completion of schedgen for fish.

function __schedgen_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] complete -- $words[2..] 2>/dev/null)
        switch $line
            case :files
                __schedgen_paths
            case :directories
                __schedgen_paths | string match -r '^[^\t]*/(?:\t.*)?$'
            case '*'
                echo $line
        end
    end
end

# Prints the paths that complete the word, or the part of it after the = of a flag.
function __schedgen_paths
    set -l word (commandline -ct)
    set -l before (string match -r '^--[^=]*=' -- $word)
    for path in (complete -C "'' "(string escape -- (string replace -- "$before" '' $word)))
        echo -- "$before"$path
    end
end

complete -c schedgen -f -a '(__schedgen_complete)'
