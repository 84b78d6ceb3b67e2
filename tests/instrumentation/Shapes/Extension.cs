// Writes an extension file with a point for every method of the shapes, so that nothing is forgotten.
using System;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Security;

namespace Shapes
{
    internal static class Extension
    {
        public static void Write(string path)
        {
            using var file = new StreamWriter(path);
            file.WriteLine("<extension xmlns=\"urn:newrelic-extension\"><instrumentation>");
            foreach (Type type in typeof(Extension).Assembly.GetTypes().OrderBy(t => t.FullName, StringComparer.Ordinal))
            {
                bool isIterator = type.IsDefined(typeof(CompilerGeneratedAttribute)) && type.Name.Contains("Guarded");
                if (type == typeof(Extension) || type == typeof(Program) ||
                    (type.IsDefined(typeof(CompilerGeneratedAttribute)) && !isIterator))
                    continue;
                const BindingFlags all = BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Static |
                                         BindingFlags.Instance | BindingFlags.DeclaredOnly;
                var names = type.GetMethods(all).Cast<MethodBase>().Concat(type.GetConstructors(all))
                                .Select(m => m.Name).Where(n => isIterator ? n == "MoveNext" : !n.Contains('<')).Distinct();
                file.WriteLine("<tracerFactory><match assemblyName=\"Shapes\" className=\"" +
                               SecurityElement.Escape(type.FullName) + "\">");
                foreach (string name in names.OrderBy(n => n, StringComparer.Ordinal))
                    file.WriteLine("<exactMethodMatcher methodName=\"" + SecurityElement.Escape(name) + "\"/>");
                file.WriteLine("</match></tracerFactory>");
            }
            file.WriteLine("</instrumentation></extension>");
        }
    }
}
