# ./dev demo: builds, runs a sick shop under load and says what is wrong with it.
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

keep=build/demo
mkdir -p "$keep"
rm -f "$keep"/shop.clarinet "$keep"/shop.html
say "a small shop with several diseases, under load: samples/SickShop"
start SickShop
show ./build/clarinet ps
say "what is wrong with it? ten seconds"
show ./build/clarinet checkup -o "$keep/shop.html" "$pid"
say "open $keep/shop.html in a browser: the findings first, then flame graphs, threads and tables"
