<#
.SYNOPSIS
Runs a .NET program under the instrumentation agent.

.DESCRIPTION
clarinet-instrument.ps1 [-AgentHome DIR] [-Library FILE] [--] COMMAND [ARGUMENT…]

Sets what the runtime needs to load the agent for the command alone, and puts the environment back
afterwards. The exit code is the command's.

.PARAMETER AgentHome
The folder with newrelic.config, extensions and the managed agent; without it the environment's
CORECLR_NEW_RELIC_HOME counts.

.PARAMETER Library
clarinet_instrument.dll (libclarinet_instrument.so on Linux); without it the one beside this script
or of the installation this script belongs to.

.EXAMPLE
.\clarinet-instrument.ps1 -AgentHome C:\agent -- dotnet Shop.dll
#>
# No attributes here: they would make this an advanced script, whose common parameters (-Verbose,
# -Debug, -OutVariable…) take options like -c, -v and -o away from the command. The command is $args.
param(
    [string] $AgentHome,
    [string] $Library
)
$ErrorActionPreference = 'Stop'

if ($args.Count -eq 0) {
    [Console]::Error.WriteLine('clarinet-instrument: which command? for example: clarinet-instrument.ps1 -- dotnet Shop.dll')
    exit 2
}
if (-not $Library) {
    $places = 'clarinet_instrument.dll', 'libclarinet_instrument.so',
        '../../lib/clarinet/libclarinet_instrument.so', '../build/libclarinet_instrument.so'
    $Library = $places | ForEach-Object { Join-Path $PSScriptRoot $_ } |
        Where-Object { Test-Path -LiteralPath $_ -PathType Leaf } | Select-Object -First 1
}
if (-not $Library -or -not (Test-Path -LiteralPath $Library -PathType Leaf)) {
    [Console]::Error.WriteLine('clarinet-instrument: the library is not found; name it with -Library')
    exit 2
}
$settings = @{
    CORECLR_ENABLE_PROFILING = '1'
    CORECLR_PROFILER         = '{36032161-FFC0-4B61-B559-F6C5D41BAE5A}'
    CORECLR_PROFILER_PATH    = (Resolve-Path -LiteralPath $Library).ProviderPath
}
if ($AgentHome) {
    $settings.CORECLR_NEW_RELIC_HOME = (Resolve-Path -LiteralPath $AgentHome).ProviderPath
}
$before = @{}
foreach ($name in $settings.Keys) {
    $before[$name] = [Environment]::GetEnvironmentVariable($name)
    [Environment]::SetEnvironmentVariable($name, $settings[$name])
}
try {
    $program = $args[0]
    $arguments = @($args | Select-Object -Skip 1)
    & $program @arguments
    $code = $LASTEXITCODE
} finally {
    foreach ($name in $before.Keys) {
        [Environment]::SetEnvironmentVariable($name, $before[$name])
    }
}
exit $code
