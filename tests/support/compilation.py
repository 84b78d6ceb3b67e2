"""The SDK's C# and F# compilers on small programs, with the same output every time: what the proofs that change
every method of a program run."""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FSHARP = """module Shapes
let rec loop n acc = if n = 0 then acc else loop (n - 1) (acc + n)
let rec even n = if n = 0 then true else odd (n - 1)
and odd n = if n = 0 then false else even (n - 1)
type Shape = Circle of float | Square of float
let area s = match s with Circle r -> r * r * 3.14 | Square a -> a * a
let safe f = try Some (f ()) with | :? System.DivideByZeroException -> None
let items = seq { for i in 1 .. 10 do yield i * i }
[<EntryPoint>]
let main args =
    printfn "%d %b %f %A %d" (loop 1000 0) (even 10001) (area (Circle 2.0))
        (safe (fun () -> 1 / args.Length)) (Seq.sum items)
    0
"""


def places():
    """The newest SDK and the newest shared framework beside it."""
    listed = subprocess.run(["dotnet", "--list-sdks"], stdout=subprocess.PIPE, text=True, check=True)
    version, folder = re.findall(r"^(\S+) \[(.+)\]$", listed.stdout, re.M)[-1]
    sdk = pathlib.Path(folder) / version
    shared = sdk.parents[1] / "shared" / "Microsoft.NETCore.App"
    newest = max(shared.iterdir(), key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)])
    return sdk, newest


def compile_commands(folder, sdk, framework):
    names = ["System*.dll", "netstandard.dll", "mscorlib.dll", "Microsoft.*.dll"]
    references = [f"-r:{path}" for name in names for path in sorted(framework.glob(name))]
    source = (ROOT / "samples" / "Traceable" / "Program.cs").read_text()
    (folder / "Program.cs").write_text(source)
    (folder / "Program.fs").write_text(FSHARP)
    yield "C#", ["dotnet", "exec", str(sdk / "Roslyn/bincore/csc.dll"), "-nologo", "-unsafe", "-nullable:enable",
                 "-langversion:latest", "-deterministic", "-optimize+", "-debug:portable",
                 f"-pathmap:{folder}=/_", "Program.cs", "-out:out.dll", *references]
    references = [r for r in references if "Native" not in r and "Microsoft." not in pathlib.Path(r).name]
    yield "F#", ["dotnet", "exec", str(sdk / "FSharp/fsc.dll"), "--nologo", "--noframework",
                 "--deterministic+", "--optimize+", "--targetprofile:netcore",
                 f"--pathmap:{folder}=/_", f"-r:{sdk / 'FSharp/FSharp.Core.dll'}", *references,
                 "Program.fs", "-o:out.dll"]
