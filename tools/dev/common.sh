# What the verbs of ./dev share. Sourced, never run; $ROOT is the tree and the current folder.

# Debian packages by what they are for. A build needs little; tests need more.
PACKAGES_BUILD=(gcc libc6-dev cmake ninja-build pkg-config python3 musl-tools libjansson-dev
    zlib1g-dev)
PACKAGES_TEST=(libcmocka-dev musl python3 python3-pytest file binutils)
PACKAGES_FUZZ=(clang libclang-rt-14-dev)
PACKAGES_CROSS=(gcc-i686-linux-gnu libc6-dev-i386-cross gcc-aarch64-linux-gnu
    libc6-dev-arm64-cross gcc-mingw-w64-x86-64 qemu-user)
PACKAGES_LINT=(clang-format clang-tidy python3 binutils)
PACKAGES_PACKAGE=(dpkg-dev file binutils)
PACKAGES_E2E=("${PACKAGES_PACKAGE[@]}" gdb strace tmux zsh fish groff-base
    protobuf-compiler python3-jsonschema)
PACKAGES_BENCH=(wrk python3)

JOBS=${CLARINET_JOBS:-$(nproc)}
CACHE=${CLARINET_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/clarinet}
RUNTIMES=$CACHE/runtimes
# Debian's Python: pytest is its package, and another python3 may come first on the PATH.
PYTHON=/usr/bin/python3

# No process of the SDK may outlive its command: the tests count the .NET processes they see.
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_CLI_USE_MSBUILD_SERVER=0
export MSBUILDDISABLENODEREUSE=1 DOTNET_SKIP_FIRST_TIME_EXPERIENCE=1
export DOTNET_GENERATE_ASPNET_CERTIFICATE=false

if [ -t 2 ] && [ -z "${NO_COLOR:-}" ]; then
    BOLD=$'\e[1m' PLAIN=$'\e[0m'
else
    BOLD='' PLAIN=''
fi

say() {
    printf '%s==> %s%s\n' "$BOLD" "$*" "$PLAIN" >&2
}

# fail MESSAGE [ADVICE…]: the message, then a line per advice, and out.
fail() {
    printf 'dev: %s\n' "$1" >&2
    shift
    for line in "$@"; do
        printf '  %s\n' "$line" >&2
    done
    exit 1
}

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# need_packages NAME…: installs the Debian packages that are missing.
need_packages() {
    local missing=() name sudo=()
    if ! command -v dpkg-query >/dev/null; then
        say "this is not Debian: please have these yourself: $*"
        return 0
    fi
    for name in "$@"; do
        is_installed "$name" || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "missing Debian packages: ${missing[*]}" \
            "install them as root: apt-get install ${missing[*]}"
        sudo=(sudo)
    fi
    say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    "${sudo[@]}" apt-get update -qq </dev/null >&2 ||
        say "apt-get update failed; trying with the package lists that are there"
    "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" \
        </dev/null >&2 || fail "apt-get could not install: ${missing[*]}" \
        "the message above says why; install them by hand and try again"
}

# need_npm: for the viewer that the server has bundled, before the first build.
need_npm() {
    command -v npm >/dev/null || need_packages nodejs npm
}

# need_dotnet: the .NET SDK, which no Debian package brings.
need_dotnet() {
    local advice=("the C# samples and the end-to-end tests need the .NET SDK, 8.0 or later:"
        "https://dot.net/download, then see that 'dotnet --list-sdks' shows it"
        "without it these still work: ./dev build, ./dev test unit asan ubsan fuzz cross")
    command -v dotnet >/dev/null || fail ".NET is not installed (no 'dotnet' on the PATH)" \
        "${advice[@]}"
    [ -n "$(dotnet --list-sdks 2>/dev/null)" ] ||
        fail "$(command -v dotnet) is only a runtime: there is no .NET SDK" "${advice[@]}"
}

# configure_and_build PRESET [TARGET]: the folder is build/ for release, else build-PRESET/.
configure_and_build() {
    local preset=$1 target=${2:-all} log
    say "building ($preset)"
    log=$(mktemp)
    if ! cmake --preset "$preset" >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
    cmake --build --preset "$preset" --target "$target" -j "$JOBS" >&2
}
