# ./dev samples: the C# samples, into build/samples/NAME/NAME.dll. Nothing is done when no source
# is newer than the last build.
need_dotnet
build_samples() {
    local stamp=build/samples/.built
    mkdir -p build/samples
    exec 8>build/samples/.lock
    flock 8
    if [ ! -f "$stamp" ] ||
        [ -n "$(find samples -type f -newer "$stamp" -not -name '*.md' -print -quit)" ]; then
        say "building the samples"
        touch "$stamp.part" # as old as the start: a source changed during the build is newer
        dotnet msbuild samples/samples.proj -nologo -verbosity:quiet -maxCpuCount:"$JOBS" \
            -nodeReuse:false </dev/null >&2 || fail "the samples do not build"
        mv "$stamp.part" "$stamp"
    fi
    exec 8>&-
}
build_samples
