# ./dev samples: the C# samples, into build/samples/NAME/NAME.dll. Only those are built that have a
# source newer than the last build; all of them when what they share is newer.
need_dotnet
newer_samples() { # newer_samples STAMP: their names with ; between them; nothing means all
    [ -f "$1" ] || return 0
    local names
    names=$(find samples -type f -newer "$1" -not -name '*.md' | cut -d/ -f2 | sort -u)
    for name in $names; do
        [ -f "samples/$name/$name.csproj" ] || return 0
    done
    echo "$names" | paste -sd';'
}
build_samples() {
    local stamp=build/samples/.built
    mkdir -p build/samples
    exec 8>build/samples/.lock
    flock 8
    if [ ! -f "$stamp" ] ||
        [ -n "$(find samples -type f -newer "$stamp" -not -name '*.md' -print -quit)" ]; then
        say "building the samples"
        touch "$stamp.part" # as old as the start: a source changed during the build is newer
        # Only goes by the environment: an option's value would be taken for one name.
        Only=$(newer_samples "$stamp") dotnet msbuild samples/samples.proj -nologo \
            -verbosity:quiet -maxCpuCount:"$JOBS" -nodeReuse:false </dev/null >&2 || fail "the samples do not build"
        mv "$stamp.part" "$stamp"
    fi
    exec 8>&-
}
build_samples
