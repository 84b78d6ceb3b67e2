# ./dev demo: builds, runs a sick program and looks at it with what the tool can do by now.
need_packages "${PACKAGES_BUILD[@]}" libcmocka-dev
need_dotnet
configure_and_build release
"$0" samples

folder=$(mktemp -d)
patients=()
finish() {
    local pid
    for pid in "${patients[@]}"; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$folder"
}
trap finish EXIT

has_verb() {
    ./build/clarinet --help | grep -qE "^  $1 "
}

# show COMMAND…: prints the command as a person would type it, and runs it.
show() {
    printf '\n%s$ %s%s\n' "$BOLD" "${*//.\/build\//}" "$PLAIN"
    "$@"
}

# start NAME OPTION…: a sample in the background; its pid in $pid when it is ready.
start() {
    local name=$1 waited=0
    shift
    dotnet exec "build/samples/$name/$name.dll" --seconds 120 "$@" </dev/null \
        >"$folder/$name.out" 2>&1 &
    pid=$!
    patients+=("$pid")
    until grep -q '^ready$' "$folder/$name.out"; do
        sleep 0.1
        waited=$((waited + 1))
        [ $waited -lt 300 ] || fail "the sample $name did not start" "$(cat "$folder/$name.out")"
    done
}

# Each step shows one thing and is left out while its verbs do not exist.
keep=build/demo
mkdir -p "$keep"
say "a program with a disease: samples/ExceptionStorm throws and throws"
start ExceptionStorm --rate 30
storm=$pid
shown=
if has_verb ps; then
    show ./build/clarinet ps
    shown=1
fi
if has_verb record && has_verb report; then
    rm -f "$keep/storm.clarinet" "$keep/storm.html"
    say "its exceptions and where its processor time goes, for 5 seconds"
    show ./build/clarinet record -p exceptions,cpu -d 5s -o "$keep/storm.clarinet" "$storm"
    show ./build/clarinet report "$keep/storm.clarinet" -f md --top 5
    show ./build/clarinet report "$keep/storm.clarinet" -o "$keep/storm.html"
    say "open $keep/storm.html in a browser: the same with flame graphs, in one file"
    shown=1
fi
[ -n "$shown" ] || show ./build/clarinet --help
