# ./dev test [PART…] | --long [STEP…]: all tests, or the parts named, counted in one closing line.
#
# Each part is a function test_PART that reports with `count PASSED FAILED`. A part that breaks off
# (a build that fails, a missing tool) counts as one failure, and the others still run.
ALL_PARTS=(unit asan ubsan fuzz cross lint browser e2e)
FUZZ_SECONDS=${CLARINET_FUZZ_SECONDS:-5}
RESULTS=$ROOT/build/test-results

if [ "${1:-}" = --long ]; then
    shift
    need_packages "${PACKAGES_BUILD[@]}" "${PACKAGES_TEST[@]}"
    configure_and_build release
    "$0" samples
    exec "$PYTHON" tools/run-long.py "$@"
fi

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=("${ALL_PARTS[@]}")
for part in "${parts[@]}"; do
    case " ${ALL_PARTS[*]} " in
    *" $part "*) ;;
    *) fail "there is no part '$part'" "the parts are: ${ALL_PARTS[*]}" ;;
    esac
done

# count PASSED FAILED: adds to the current part's result.
count() {
    echo "$current $1 $2" >>"$RESULTS/counts"
}

# check NAME COMMAND…: one test that is a command.
check() {
    local name=$1
    shift
    if "$@" >&2; then
        count 1 0
    else
        say "FAILED: $name"
        count 0 1
    fi
}

# quiet LOG COMMAND…: keeps the output for the case that it fails.
quiet() {
    local log=$1
    shift
    "$@" >"$log" 2>&1 || {
        tail -n 60 "$log"
        return 1
    }
}

# ctest_in FOLDER: every cmocka test function of every program counts.
ctest_in() {
    local report=$RESULTS/$current.xml
    rm -f "$report"
    ctest --test-dir "$1" -j "$JOBS" --output-on-failure --output-junit "$report" \
        --test-output-size-passed 10000000 --test-output-size-failed 10000000 >&2 || true
    # shellcheck disable=SC2046
    count $("$PYTHON" tools/count-tests.py ctest "$report")
}

test_unit() {
    configure_and_build release
    ctest_in build
}

test_asan() {
    configure_and_build asan unit_tests
    ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1} ctest_in build-asan
}

test_ubsan() {
    configure_and_build ubsan unit_tests
    UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1} ctest_in build-ubsan
}

test_fuzz() {
    local program name corpus found=$RESULTS/fuzz
    need_packages "${PACKAGES_FUZZ[@]}"
    configure_and_build fuzz fuzz_targets
    for program in build-fuzz/fuzz/fuzz_*; do
        [ -x "$program" ] || continue
        name=${program##*/fuzz_}
        corpus=tests/fuzz/corpus/$name
        [ -d "$corpus" ] || corpus=
        mkdir -p "$found/$name"
        say "fuzzing $name for $FUZZ_SECONDS s"
        # New inputs go to a folder of their own, never into the tree. With one seed a run can be
        # had again: what passed here passes elsewhere. tests/long/fuzz looks for what is new.
        # shellcheck disable=SC2086
        check "fuzz_$name" quiet "$found/$name.log" "$program" -seed=1 -max_total_time="$FUZZ_SECONDS" \
            -timeout=20 -rss_limit_mb=2048 -print_final_stats=0 -verbosity=0 \
            -artifact_prefix="$found/$name-" "$found/$name" $corpus
    done
}

test_cross() {
    if [ ! -x tests/cross/run ]; then
        say "there is no tests/cross/run"
        return 0
    fi
    need_packages "${PACKAGES_CROSS[@]}"
    local line
    say "building and testing for other processors and systems"
    line=$(tests/cross/run 2>&1 | tee -a /dev/stderr | tail -n 1) || true
    if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        count "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
    else
        count 0 1
    fi
}

test_lint() {
    local name
    need_packages "${PACKAGES_LINT[@]}"
    [ -f build/build.ninja ] || configure_and_build release
    for name in layers agent docs format shell; do
        check "lint $name" "$0" lint "$name"
    done
}

test_browser() {
    local report=$RESULTS/browser.xml
    if [ ! -x tests/browser/run ]; then
        say "there is no tests/browser/run"
        return 0
    fi
    need_packages chromium
    need_npm
    configure_and_build release
    say "browser tests"
    rm -f "$report"
    tests/browser/run --test-reporter=spec --test-reporter-destination=stderr \
        --test-reporter=junit --test-reporter-destination="$report" </dev/null >&2 || true
    # shellcheck disable=SC2046
    count $("$PYTHON" tools/count-tests.py junit "$report")
}

test_e2e() {
    local report=$RESULTS/e2e.xml
    need_packages "${PACKAGES_E2E[@]}" python3-pytest-timeout python3-pytest-xdist
    need_dotnet
    configure_and_build release
    "$0" runtimes >/dev/null
    "$0" samples
    say "end-to-end tests"
    rm -f "$report"
    # Two files at a time: most of a test is waiting. More would starve the programs on two cores.
    "$PYTHON" -m pytest tests/e2e -q -p no:cacheprovider -n 2 --dist loadfile --timeout 600 \
        --durations 10 --junitxml "$report" </dev/null >&2 || true
    # shellcheck disable=SC2046
    count $("$PYTHON" tools/count-tests.py junit "$report")
}

need_packages "${PACKAGES_BUILD[@]}" "${PACKAGES_TEST[@]}"
need_npm
rm -rf "$RESULTS"
mkdir -p "$RESULTS"
: >"$RESULTS/counts"
for current in "${parts[@]}"; do
    started=$SECONDS
    # A shell of its own, so that `set -e` and `fail` end the part and not the run. (Inside an
    # `if` or before `||` the shell would ignore `set -e`, hence the set +e around.)
    set +e
    (
        set -e
        "test_$current"
    )
    code=$?
    set -e
    if [ $code -ne 0 ]; then
        say "FAILED: the part '$current' broke off"
        count 0 1
    fi
    echo "$current $((SECONDS - started))" >>"$RESULTS/seconds"
done

echo
for current in "${parts[@]}"; do
    awk -v part="$current" '$1 == part { passed += $2; failed += $3 }
        END { printf "%-7s %5d passed, %d failed", part, passed, failed }' "$RESULTS/counts"
    awk -v part="$current" '$1 == part { printf "  (%d s)\n", $2 }' "$RESULTS/seconds"
done
awk '{ passed += $2; failed += $3 }
    END { printf "\n%d passed, %d failed\n", passed, failed; exit failed > 0 || passed == 0 }' \
    "$RESULTS/counts"
