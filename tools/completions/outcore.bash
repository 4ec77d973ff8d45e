# Completion of outcore(1) for bash: commands, options, the values of options that have few, and files.

_outcore_options() { # COMMAND
    local resources='-m --memory-limit -q --quiet --timer -h --help -V --version'
    local input='--input-format --delimiter --header --columns --null'
    local output="$resources -o --output --format --compression
        --output-delimiter --output-header --output-null --maxrows -d --disk-limit -T --temp-dir
        -t --threads --parallel -b --batch-size --spill-compression --spill-encoding
        --no-spill-checksums --encrypt-spill --progress --stats"
    local files="$input $output --select --limit"
    case $1 in
        sort) echo "$files -k --by" ;;
        convert) echo "$files" ;;
        inspect) echo "$input $resources --physical" ;;
        help | version) echo '-h --help -V --version' ;;
        *) echo "-c --command -f --file --continue --no-config $output" ;;
    esac
}

# The values of an option; fails when the option takes anything, or none.
_outcore_values() { # OPTION
    case $1 in
        --input-format) echo 'auto csv tsv tbl arrow arrows' ;;
        --format) echo 'auto table csv tsv json ndjson arrow arrows parquet null' ;;
        --compression) echo 'none lz4 zstd snappy gzip brotli' ;;
        --spill-compression) echo 'auto none lz4 zstd' ;;
        --spill-encoding) echo 'auto plain lengths' ;;
        --header) echo 'auto yes no' ;;
        --output-header) echo 'yes no' ;;
        --progress) echo 'auto on off' ;;
        --maxrows) echo 'all' ;;
        *) return 1 ;;
    esac
}

_outcore() {
    local current=$2 previous=$3 command='' word values
    COMPREPLY=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $word in
            sort | convert | inspect | help | version)
                command=$word
                break
                ;;
        esac
    done

    # bash takes --format=csv apart at the "=".
    if [[ $current == = ]]; then
        current=''
    elif [[ $previous == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if values=$(_outcore_values "$previous"); then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
        return
    fi
    case $previous in
        -f | --file | -o | --output)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        -T | --temp-dir)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -d -- "$current")
            return
            ;;
    esac
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_outcore_options "$command")" -- "$current")
    elif [[ -z $command || $command == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'sort convert inspect help version' -- "$current")
    elif [[ $command != version ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}

complete -F _outcore outcore
