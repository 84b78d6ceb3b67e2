# ./dev bench [NAME…]: runs bench/NAME.py (all without a name). Each prints a table with ratios and
# ends non-zero when a bar it names is missed.
need_packages "${PACKAGES_BUILD[@]}" "${PACKAGES_BENCH[@]}" libcmocka-dev
need_dotnet
configure_and_build release
"$0" runtimes >/dev/null
"$0" samples
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for file in bench/*.py; do
        case "${file##*/}" in
        _* | common.py | '*.py') ;;
        *) names+=("$(basename "$file" .py)") ;;
        esac
    done
fi
[ ${#names[@]} -gt 0 ] || fail "there are no benchmarks in bench/ yet"
status=0
for name in "${names[@]}"; do
    [ -f "bench/$name.py" ] || fail "there is no bench/$name.py" \
        "there are: $(cd bench && echo *.py)"
    say "bench: $name"
    PYTHONPATH=bench PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "bench/$name.py" </dev/null || status=1
done
exit $status
