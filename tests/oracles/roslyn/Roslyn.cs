// roslyn FOLDER SOURCE OUT: compiles one file against the libraries in the folder, the same bytes every time.
using System;
using System.IO;
using System.Linq;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.Emit;
using Microsoft.CodeAnalysis.Text;

string[] patterns = { "System*.dll", "netstandard.dll", "mscorlib.dll", "Microsoft.*.dll" };
var references = patterns.SelectMany(pattern => Directory.GetFiles(args[0], pattern)).Distinct()
    .Where(path => !path.EndsWith(".Native.dll", StringComparison.Ordinal))
    .OrderBy(path => path, StringComparer.Ordinal).Select(path => MetadataReference.CreateFromFile(path));
var options = new CSharpParseOptions(LanguageVersion.Latest);
var tree = CSharpSyntaxTree.ParseText(SourceText.From(File.ReadAllText(args[1]), Encoding.UTF8), options, "/_/Program.cs");
var compilation = CSharpCompilation.Create("out", new[] { tree }, references, new CSharpCompilationOptions(
    OutputKind.ConsoleApplication, optimizationLevel: OptimizationLevel.Release, allowUnsafe: true, deterministic: true,
    nullableContextOptions: NullableContextOptions.Enable));
using var file = File.Create(args[2]);
using var symbols = new MemoryStream();
EmitResult result = compilation.Emit(file, symbols, options: new EmitOptions(
    debugInformationFormat: DebugInformationFormat.PortablePdb, pdbFilePath: "/_/out.pdb"));
foreach (Diagnostic problem in result.Diagnostics.Where(d => d.Severity == DiagnosticSeverity.Error))
    Console.Error.WriteLine(problem);
return result.Success ? 0 : 1;
