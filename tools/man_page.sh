#!/usr/bin/env bash
# Prints qkv's man page: what `qkv --help` and the help of every command say, set by help2man.
#
#     man_page.sh QKV
set -euo pipefail
qkv=$1
export COLUMNS=72 LC_ALL=C.UTF-8
sections=$(mktemp)
trap 'rm -f "$sections"' EXIT
{
  echo "[COMMANDS]"
  for command in $("$qkv" help | sed -n '/Commands:$/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    printf '.SS qkv %s\n.nf\n' "$command"
    "$qkv" help "$command" | sed -e '/^Options of every command:/,$d' -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/'/\\\\(aq/g" -e 's/^\./\\\&./'
    echo .fi
  done
  cat <<'END'
[EXIT STATUS]
.TP
.B 0
Done; of
.BR "qkv check" :
nothing is wrong.
.TP
.B 1
.B qkv check
found a wrong cell or a wrong shape.
.TP
.B 2
Bad usage, bad input, or a failed write.
[ENVIRONMENT]
.TP
.B COLUMNS
How wide the output may be; otherwise as wide as the terminal.
.TP
.B NO_COLOR
If set and not empty, numbers are not shaded unless
.B \-\-color
says so.
END
} >"$sections"
help2man --locale C.UTF-8 --no-info --name 'attention, one matrix at a time' --include "$sections" "$qkv"
