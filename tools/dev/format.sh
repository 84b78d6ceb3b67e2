# ./dev format [--check]: clang-format over all C sources.
need_packages clang-format
mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.c' '*.h' |
    while read -r file; do [ ! -f "$file" ] || echo "$file"; done)
if [ "${1:-}" = --check ]; then
    say "checking the format of ${#files[@]} files"
    clang-format --dry-run -Werror "${files[@]}" 2>&1 | grep -E 'error:' |
        cut -d: -f1 | sort | uniq -c | awk '{ print "  " $2 ": " $1 " places" }' >&2 || true
    clang-format --dry-run -Werror "${files[@]}" 2>/dev/null ||
        fail "some files are not formatted" "./dev format does it"
else
    say "formatting ${#files[@]} files"
    clang-format -i "${files[@]}"
fi
