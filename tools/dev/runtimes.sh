# ./dev runtimes: a folder with several .NET runtimes side by side, made of their NuGet packages
# and kept outside the tree. Prints the folder on stdout.
#
# A folder of a version appears by one rename when all its files are there, so a run that was cut
# off is continued by the next one, and two runs at once do no harm.
need_packages python3
need_dotnet

case "$(uname -m)" in
x86_64) RID=linux-x64 ;;
aarch64) RID=linux-arm64 ;;
*) fail "no runtimes for $(uname -m): the tests know x86_64 and aarch64" ;;
esac

# pack FRAMEWORK: the NuGet package that holds a shared framework.
pack() {
    echo "$1.Runtime.$RID"
}

# wanted: lines "framework version" of tools/runtimes/versions that are not there yet.
wanted() {
    local name version web
    while read -r name version web; do
        case "$name" in '' | '#'*) continue ;; esac
        [ -d "$RUNTIMES/shared/Microsoft.NETCore.App/$version" ] ||
            echo "Microsoft.NETCore.App $version"
        [ "$web" != aspnetcore ] || [ -d "$RUNTIMES/shared/Microsoft.AspNetCore.App/$version" ] ||
            echo "Microsoft.AspNetCore.App $version"
    done <tools/runtimes/versions
}

# restore LINES: fetches the packages into $work/packs.
restore() {
    local framework versions
    {
        echo '<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup>'
        echo '<TargetFramework>net8.0</TargetFramework>'
        echo '<DisableImplicitFrameworkReferences>true</DisableImplicitFrameworkReferences>'
        echo '<NoWarn>$(NoWarn);NETSDK1138;NU1903</NoWarn>'
        echo '<NuGetAudit>false</NuGetAudit>'
        echo '<RestorePackagesPath>$(MSBuildThisFileDirectory)packs</RestorePackagesPath>'
        echo '</PropertyGroup><ItemGroup>'
        for framework in Microsoft.NETCore.App Microsoft.AspNetCore.App; do
            versions=$(awk -v f="$framework" '$1 == f { printf "[%s];", $2 }' <<<"$1")
            [ -z "$versions" ] ||
                echo "<PackageDownload Include=\"$(pack "$framework")\" Version=\"${versions%;}\" />"
        done
        echo '</ItemGroup></Project>'
    } >"$work/runtimes.csproj"
    dotnet restore "$work/runtimes.csproj" --disable-build-servers -v quiet </dev/null >&2 ||
        fail "NuGet could not fetch the runtimes" \
            "the message above says why; run ./dev runtimes again to go on where it stopped"
}

# assemble FRAMEWORK VERSION: the package's files, flattened, as a shared framework.
assemble() {
    local framework=$1 version=$2 from part
    from=$work/packs/$(pack "$framework" | tr '[:upper:]' '[:lower:]')/$version/runtimes/$RID
    part=$work/part/$framework-$version
    rm -rf "$part"
    mkdir -p "$part" "$RUNTIMES/shared/$framework"
    find "$from" -type f -exec cp -t "$part" {} +
    [ -f "$part/$framework.deps.json" ] ||
        "$PYTHON" tools/runtimes/write-deps.py "$framework" "$version" "$RID" "$part"
    mv -T "$part" "$RUNTIMES/shared/$framework/$version"
}

mkdir -p "$CACHE"
exec 9>"$CACHE/runtimes.lock"
flock 9
missing=$(wanted)
if [ -n "$missing" ]; then
    work=$CACHE/runtimes.work
    mkdir -p "$work" "$RUNTIMES"
    say "fetching .NET runtimes into $RUNTIMES: $(tr '\n' ',' <<<"$missing" | sed 's/,$//; s/,/, /g')"
    restore "$missing"
    while read -r framework version; do
        assemble "$framework" "$version"
    done <<<"$missing"
    rm -rf "$work"
fi
# The host looks for frameworks beside its own real path: hence a copy of it, not a link.
if [ ! -x "$RUNTIMES/dotnet" ]; then
    host=$(dirname "$(readlink -f "$(command -v dotnet)")")
    [ -d "$host/host/fxr" ] || fail "$host has no host/fxr: is this the SDK's own folder?"
    rm -rf "$RUNTIMES/host.part" "$RUNTIMES/host"
    cp -rL "$host/host" "$RUNTIMES/host.part"
    mv -T "$RUNTIMES/host.part" "$RUNTIMES/host"
    cp -L "$host/dotnet" "$RUNTIMES/dotnet.part"
    mv "$RUNTIMES/dotnet.part" "$RUNTIMES/dotnet"
fi
exec 9>&-
echo "$RUNTIMES"
