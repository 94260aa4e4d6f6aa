# fish completion for qkv. qkv itself says what may come next; a line with a colon stands for files.
function __qkv_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l start (string match -r -- '^--[^=]+=' $current)
    for line in ($words[1] --complete $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case :lessons
                __fish_complete_suffix .toml
            case :files
                __fish_complete_path $current
            case :directories
                __fish_complete_directories $current
            case '*'
                echo "$start$line"
        end
    end
end

complete -c qkv -f -a '(__qkv_complete)'
