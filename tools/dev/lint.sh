# ./dev lint [layers|agent|docs|format|shell|python|tidy…]: what can be checked without running the programs.
#   layers  who may include whom (tools/check-layers.py)
#   agent   what the in-target libraries import, export and weigh (tools/check-agent.py)
#   docs    links, the README's verbs (tools/check-docs.py)
#   format  clang-format
#   shell   the shell scripts parse
#   python  the Python scripts parse and use no name that nobody defines (tools/check-python.py)
#   tidy    clang-tidy with .clang-tidy; the slow one
checks=("$@")
[ ${#checks[@]} -gt 0 ] || checks=(layers agent docs format shell python tidy)

lint_layers() {
    "$PYTHON" tools/check-layers.py
}

lint_agent() {
    [ -f build/build.ninja ] || configure_and_build release
    "$PYTHON" tools/check-agent.py build
}

lint_docs() {
    [ -x build/clarinet ] || configure_and_build release
    "$PYTHON" tools/check-docs.py build/clarinet
}

lint_format() {
    "$0" format --check
}

lint_shell() {
    local file status=0
    for file in dev .ci/run tools/dev/*.sh; do
        bash -n "$file" || status=1
    done
    return $status
}

lint_python() {
    "$PYTHON" tools/check-python.py
}

lint_tidy() {
    local files
    need_packages clang-tidy
    [ -f build/compile_commands.json ] || configure_and_build release
    # The sources that the tool compiles; those of the target only are compiled against musl.
    mapfile -t files < <("$PYTHON" tools/list-sources.py build/compile_commands.json)
    # Without the options that only gcc knows.
    mkdir -p build/tidy
    sed -E 's/ -f(no-reorder-blocks-and-partition|align-[a-z]+=[0-9]+)//g' \
        build/compile_commands.json >build/tidy/compile_commands.json
    printf '%s\n' "${files[@]}" | xargs -P "$JOBS" -n 8 clang-tidy -p build/tidy --quiet \
        --extra-arg=-Wno-unknown-warning-option 2>/dev/null
}

status=0
need_packages "${PACKAGES_LINT[@]}"
for name in "${checks[@]}"; do
    [ "$(type -t "lint_$name")" = function ] || fail "there is no check '$name'"
    say "lint: $name"
    set +e
    (
        set -e
        "lint_$name"
    )
    [ $? -eq 0 ] || status=1
    set -e
done
[ $status -eq 0 ] || fail "lint found something"
