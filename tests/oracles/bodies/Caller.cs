// Calls every public static method of an assembly with each of a few arguments, and prints results,
// exceptions with the frames of that assembly, and at last what reflection says about the bodies.
using System.Globalization;
using System.Reflection;
using System.Runtime.Loader;
using System.Security.Cryptography;

namespace Bodies;

public static class Caller
{
    private const int Paths = 8;
    private static readonly object?[] Texts = { "", null, "text", "another", "x", null, "yes", "no" };

    public static void CallAll(string path)
    {
        var assembly = AssemblyLoadContext.Default.LoadFromAssemblyPath(Path.GetFullPath(path));
        var output = new StringWriter(CultureInfo.InvariantCulture);

        foreach (var type in assembly.GetTypes().OrderBy(t => t.FullName, StringComparer.Ordinal))
            foreach (var method in type.GetMethods(BindingFlags.Public | BindingFlags.Static | BindingFlags.DeclaredOnly))
                for (int n = 0; n < Paths; n++)
                    Call(method, n, output);
        foreach (var type in assembly.GetTypes().OrderBy(t => t.FullName, StringComparer.Ordinal))
            foreach (var method in type.GetMethods((BindingFlags)60))
                Describe(method, output);
        Console.Out.Write(output.ToString());
    }

    private static void Call(MethodInfo method, int path, TextWriter output)
    {
        var sum = method.DeclaringType!.GetField("Sum");
        var arguments = method.GetParameters().Select(p => Argument(p.ParameterType, path)).ToArray();

        sum?.SetValue(null, 1L);
        method.DeclaringType.GetField("Fuel")?.SetValue(null, 200);
        output.Write($"{method.DeclaringType.Name}.{method.Name} {path}: ");
        try
        {
            var target = method.ContainsGenericParameters ? method.MakeGenericMethod(path % 2 == 0 ? typeof(int) : typeof(string)) : method;
            var value = target.Invoke(null, BindingFlags.DoNotWrapExceptions, null, arguments, CultureInfo.InvariantCulture);

            output.Write(value is double real ? real.ToString("R", CultureInfo.InvariantCulture) : value ?? "null");
        }
        catch (Exception problem)
        {
            for (Exception? e = problem; e != null; e = e.InnerException)
            {
                output.Write($"{e.GetType().Name} {e.Message}");
                foreach (var line in (e.StackTrace ?? "").Split('\n').Where(l => l.Contains(" at Made.")))
                    output.Write($"\n    {line[..(line.IndexOf(" in ") is var at and > 0 ? at : line.Length)].Trim()} {line[(line.LastIndexOf(':') + 1)..].Trim()}");
            }
        }
        output.WriteLine(sum == null ? "" : $" [{sum.GetValue(null)}]");
    }

    private static object? Argument(Type type, int path)
    {
        if (type == typeof(int))
            return path;
        if (type == typeof(long))
            return (path - 3) * 0x1234567891L;
        if (type == typeof(double))
            return path * 0.5 - 1;
        if (type == typeof(string))
            return Texts[path];
        if (type == typeof(int[]))
            return path == 7 ? null : new int[path];
        return type.IsValueType ? Activator.CreateInstance(type) : null;
    }

    private static void Describe(MethodInfo method, TextWriter output)
    {
        var body = method.GetMethodBody();

        if (body == null)
            return;
        output.Write($"{method.DeclaringType!.Name}.{method.Name}: {Convert.ToHexString(SHA256.HashData(body.GetILAsByteArray()!))[..16]}");
        output.Write($" stack {body.MaxStackSize} locals {body.LocalVariables.Count} {body.InitLocals}");
        foreach (var clause in body.ExceptionHandlingClauses)
            output.Write($" {clause.Flags} {clause.TryOffset:x}+{clause.TryLength:x} {clause.HandlerOffset:x}+{clause.HandlerLength:x}");
        output.WriteLine();
    }
}
