#!/usr/bin/env python3
"""Writes the SDK's headers and the callback object from the tables beside this script.

    tools/clr/generate.py            write include/clarinet/*.h and src/clr/*.c
    tools/clr/generate.py --check    only say whether the committed files are up to date (exit 1)

interfaces.txt gives interfaces.h, calls.h, callbacks.h and src/clr/{iids,callback_table}.c,
enums.txt gives flags.h, hresults.txt gives hresults.h. tests/support/clr_table.inc lists what the
compiler made of the headers, for the test that holds it against the tables.
"""
import collections
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

Parameter = collections.namedtuple("Parameter", "direction type name")
Method = collections.namedtuple("Method", "slot clr_name name result parameters owner")
Interface = collections.namedtuple("Interface", "name iid base methods")

# Calls are written once per chain of interfaces, on the newest one: prefix, type, versioned.
FAMILIES = [
    ("clr_import", "IMetaDataImport2"),
    ("clr_emit", "IMetaDataEmit2"),
    ("clr_assembly_import", "IMetaDataAssemblyImport"),
    ("clr_assembly_emit", "IMetaDataAssemblyEmit"),
    ("clr_tables", "IMetaDataTables2"),
    ("clr_dispenser", "IMetaDataDispenserEx"),
    ("clr_object_enum", "ICorProfilerObjectEnum"),
    ("clr_function_enum", "ICorProfilerFunctionEnum"),
    ("clr_module_enum", "ICorProfilerModuleEnum"),
    ("clr_thread_enum", "ICorProfilerThreadEnum"),
    ("clr_method_enum", "ICorProfilerMethodEnum"),
    ("clr_function_control", "ICorProfilerFunctionControl"),
    ("clr_method_malloc", "IMethodMalloc"),
    ("clr_assembly_reference_provider", "ICorProfilerAssemblyReferenceProvider"),
    ("clr_class_factory", "ClrClassFactory"),
]
INFO = "ICorProfilerInfo15"
CALLBACK = "ICorProfilerCallback11"
# The runtime looks at what these return; all other callbacks of a profiler return nothing.
CALLBACKS_WITH_RESULT = {"Initialize", "InitializeForAttach", "GetReJITParameters"}
UNKNOWN = ["QueryInterface", "AddRef", "Release"]
BANNER = "/* Made by tools/clr/generate.py from tools/clr/{}: do not edit. */\n"


def lines_of(name):
    for line in (HERE / name).read_text().splitlines():
        if line and not line.startswith("#"):
            yield line


def read_interfaces():
    interfaces = collections.OrderedDict()
    for line in lines_of("interfaces.txt"):
        if line.startswith("interface "):
            _, name, iid, base = line.split()
            current = Interface(name, iid, base, [])
            interfaces[name] = current
            continue
        slot, clr_name, name, result, rest = re.match(
            r"(\d+) (\S+) (\S+) (\S+) \((.*)\)$", line).groups()
        parameters = []
        for text in filter(None, rest.split(", ")):
            direction, kind, parameter = re.match(r"(\w+) (.*?)(\w+)$", text).groups()
            parameters.append(Parameter(direction, kind.strip(), parameter))
        current.methods.append(
            Method(int(slot), clr_name, name, result.replace("*", " *"), parameters, current.name))
    return interfaces


def chain(interfaces, name):
    """All methods of an interface, bases first."""
    if name == "IUnknown":
        return []
    interface = interfaces[name]
    return chain(interfaces, interface.base) + interface.methods


def declare(kind, name):
    return kind + name if kind.endswith("*") else kind + " " + name


def wrap(text, indent, width=100):
    """Breaks a long line at commas, the way clang-format does not have to repeat."""
    if len(text) <= width:
        return text
    out, line = [], ""
    for part in re.split(r"(?<=,) ", text):
        if line and len(line) + 1 + len(part) > width:
            out.append(line)
            line = " " * indent + part
        else:
            line = line + " " + part if line else part
    out.append(line)
    return "\n".join(out)


def iid_text(iid):
    a, b, c, d, e = iid.split("-")
    tail = [d[0:2], d[2:4]] + [e[i:i + 2] for i in range(0, 12, 2)]
    return "{0x%s, 0x%s, 0x%s, {%s}}" % (a, b, c, ", ".join("0x" + x for x in tail))


def make_interfaces(interfaces):
    out = [BANNER.format("interfaces.txt"), """/*
 * interfaces: every interface of the CLR's profiling and metadata APIs as a C structure, and the
 * IIDs. A newer interface only adds slots behind those of its base, so each chain has one structure,
 * that of its newest member, and the older names are the same type. The offset of a member is its
 * slot times the size of a pointer. What an object really has follows from the IID it was asked for;
 * profilers call through calls.h, which knows, and which clears and checks what comes back.
 */
#ifndef CLARINET_INTERFACES_H
#define CLARINET_INTERFACES_H

#include "clarinet/flags.h"
#include "clarinet/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct clr_unknown clr_unknown;
struct clr_unknown {
    const struct clr_unknown_vtbl *vtbl;
};
struct clr_unknown_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(void *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(void *self);
    uint32_t(CLR_CALL *Release)(void *self);
};
extern const GUID CLR_IID_IUnknown;
"""]
    bases = {interface.base for interface in interfaces.values()}
    newest = [x for x in interfaces.values() if x.name not in bases]
    for interface in newest:
        name = interface.name
        while name != "IUnknown":
            out.append("typedef struct %s %s;" % (interface.name, name))
            name = interfaces[name].base
    out.append("")
    for interface in interfaces.values():
        out.append("extern const GUID CLR_IID_%s;" % interface.name)
    for interface in newest:
        name = interface.name
        out.append("\nstruct %s {\n    const struct %s_vtbl *vtbl;\n};" % (name, name))
        out.append("struct %s_vtbl {" % name)
        out.append("    HRESULT(CLR_CALL *QueryInterface)(%s *self, const GUID *iid, void **out);"
                   % name)
        out.append("    uint32_t(CLR_CALL *AddRef)(%s *self);" % name)
        out.append("    uint32_t(CLR_CALL *Release)(%s *self);" % name)
        for method in chain(interfaces, name):
            parameters = ["%s *self" % name] + [declare(p.type, p.name) for p in method.parameters]
            out.append(wrap("    %s(CLR_CALL *%s)(%s);" % (
                method.result, method.clr_name, ", ".join(parameters)), 8))
        out.append("};")
    out.append("""
#ifdef __cplusplus
}
#endif

#endif""")
    return "\n".join(out) + "\n"


def is_structure(kind):
    pointee = kind[:-1].strip()
    return pointee in ("COR_PRF_GC_GENERATION_RANGE", "COR_PRF_EX_CLAUSE_INFO", "GUID",
                       "COR_PRF_FUNCTION_ARGUMENT_RANGE")


def make_call(prefix, method, self_type, version):
    """One wrapper: clear the outs, call, and turn success with a null pointer into E_POINTER."""
    versioned = version is not None
    self_declaration = "const clr_info *info" if versioned else "%s *self" % self_type
    target = "info->com" if versioned else "self"
    parameters = [self_declaration] + [declare(p.type, p.name) for p in method.parameters]
    head = wrap("static inline %s(%s)" % (
        declare(method.result, "%s_%s" % (prefix, method.name)), ", ".join(parameters)), 4)
    body, checks = [], []
    for p in method.parameters:
        if p.direction not in ("out", "maybe"):
            continue
        body.append("    if (%s != NULL)" % p.name)
        if is_structure(p.type):
            body.append("        memset(%s, 0, sizeof *%s);" % (p.name, p.name))
        else:
            null = "NULL" if p.type.endswith("**") else "0"
            body.append("        *%s = %s;" % (p.name, null))
        if p.type.endswith("**") and p.direction == "out":
            checks.append("    if (hr == 0 && %s != NULL && *%s == NULL)\n        hr = E_POINTER;"
                          % (p.name, p.name))
    if versioned and version > 1:
        body.append("    if (info->version < %d)\n        return E_NOINTERFACE;" % version)
    call = wrap("%s->vtbl->%s(%s)" % (
        target, method.clr_name, ", ".join([target] + [p.name for p in method.parameters])), 8, 84)
    if method.result == "void":
        body.append("    %s;" % call)
    elif checks:
        body.insert(0, "    HRESULT hr;\n")
        body.append("    hr = %s;" % call)
        body += checks
        body.append("    return hr;")
    else:
        body.append("    return %s;" % call)
    return "%s\n{\n%s\n}" % (head, "\n".join(body))


def version_of(name):
    digits = re.search(r"(\d+)$", name)
    return int(digits.group(1)) if digits else 1


def make_calls(interfaces):
    out = [BANNER.format("interfaces.txt"), """/*
 * calls: the CLR's interfaces as plain C functions.
 *
 * Each call clears its out parameters first, answers E_POINTER when the runtime says S_OK but hands
 * back a null pointer, and accepts NULL for an out parameter wherever the runtime does. A call on
 * `clr_info` that this runtime is too old for answers E_NOINTERFACE and touches nothing.
 * Thread rules are the runtime's own; nothing here locks or allocates.
 */
#ifndef CLARINET_CALLS_H
#define CLARINET_CALLS_H

#include <string.h>

#include "clarinet/hresults.h"
#include "clarinet/interfaces.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The runtime's profiling services: its newest ICorProfilerInfo, and which version that is. */
typedef struct {
    ICorProfilerInfo15 *com;
    unsigned version;
} clr_info;

/* The three calls that every object of the CLR answers. NULL objects are answered, not called. */
static inline HRESULT clr_query_interface(void *object, const GUID *iid, void **out)
{
    HRESULT hr;

    *out = NULL;
    if (object == NULL)
        return E_POINTER;
    hr = ((clr_unknown *)object)->vtbl->QueryInterface(object, iid, out);
    if (hr == 0 && *out == NULL)
        hr = E_POINTER;
    return hr;
}
static inline uint32_t clr_add_ref(void *object)
{
    return object == NULL ? 0 : ((clr_unknown *)object)->vtbl->AddRef(object);
}
static inline uint32_t clr_release(void *object)
{
    return object == NULL ? 0 : ((clr_unknown *)object)->vtbl->Release(object);
}
"""]
    for method in chain(interfaces, INFO):
        out.append(make_call("clr_info", method, INFO, version_of(method.owner)))
    for prefix, name in FAMILIES:
        out.append("\n/* %s */" % name)
        for method in chain(interfaces, name):
            out.append(make_call(prefix, method, name, None))
    out.append("""
#ifdef __cplusplus
}
#endif

#endif""")
    return "\n".join(out) + "\n"


def callback_parameters(method):
    """What a profiler's function gets: its context, and what the runtime says."""
    parameters = [declare(p.type, p.name) for p in method.parameters]
    if method.clr_name in ("Initialize", "InitializeForAttach"):
        parameters[0] = "const clr_info *info"
    return ", ".join(["void *context"] + parameters)


def make_callbacks(interfaces):
    out = [BANNER.format("interfaces.txt"), """/*
 * callbacks: what a profiler may want to hear. Fill in the ones you want; the rest stays NULL and
 * costs one test. See profiler.h.
 */
#ifndef CLARINET_CALLBACKS_H
#define CLARINET_CALLBACKS_H

#include "clarinet/calls.h"

typedef struct {"""]
    owner = None
    for method in chain(interfaces, CALLBACK):
        if method.owner != owner:
            owner = method.owner
            out.append("    /* %s */" % owner)
        result = "HRESULT" if method.clr_name in CALLBACKS_WITH_RESULT else "void"
        out.append(wrap("    %s (*%s)(%s);" % (result, method.name, callback_parameters(method)),
                        8))
    out.append("} clr_profiler_callbacks;\n\n#endif")
    return "\n".join(out) + "\n"


def make_callback_table(interfaces):
    out = [BANNER.format("interfaces.txt"), """/*
 * callback_table: the vtable of ICorProfilerCallback11 over a clr_profiler_callbacks. Each slot
 * calls the profiler's function if there is one. Initialize, InitializeForAttach and the three
 * slots of IUnknown are written by hand in profiler.c.
 */
#include "clr/profiler_object.h"
"""]
    methods = chain(interfaces, CALLBACK)
    for method in methods:
        if method.clr_name in ("Initialize", "InitializeForAttach"):
            continue
        parameters = ["ICorProfilerCallback11 *self"] + [
            declare(p.type, p.name) for p in method.parameters]
        out.append(wrap("static HRESULT CLR_CALL %s(%s)" % (method.name, ", ".join(parameters)), 4))
        call = wrap("object->callbacks->%s(%s)" % (method.name, ", ".join(
            ["object->context"] + [p.name for p in method.parameters])), 12, 88)
        out.append("{\n    clr_profiler_object *object = (clr_profiler_object *)self;\n")
        if method.clr_name == "GetReJITParameters":
            out.append("    if (object->callbacks->%s == NULL)\n        return S_OK;" % method.name)
            out.append("    return %s;\n}\n" % call)
        else:
            out.append("    if (object->callbacks->%s != NULL)\n        %s;" % (method.name, call))
            out.append("    return S_OK;\n}\n")
    out.append("const struct ICorProfilerCallback11_vtbl clr_callback_table = {")
    for name, function in (("QueryInterface", "query_interface"), ("AddRef", "add_ref"),
                           ("Release", "release"), ("Initialize", "initialize"),
                           ("InitializeForAttach", "initialize_for_attach")):
        out.append("    .%s = clr_profiler_object_%s," % (name, function))
    for method in methods:
        if method.clr_name not in ("Initialize", "InitializeForAttach"):
            out.append("    .%s = %s," % (method.clr_name, method.name))
    out.append("};")
    return "\n".join(out) + "\n"


def make_iids(interfaces):
    out = [BANNER.format("interfaces.txt"), '#include "clarinet/interfaces.h"\n']
    out.append("const GUID CLR_IID_IUnknown = %s;"
               % iid_text("00000000-0000-0000-c000-000000000046"))
    for interface in interfaces.values():
        text = "const GUID CLR_IID_%s = %s;" % (interface.name, iid_text(interface.iid))
        if len(text) > 100:
            text = text.replace(" = {", " = {\n    ", 1).replace("}};", "}}; ").rstrip()
        out.append(text)
    return "\n".join(out) + "\n"


def make_flags():
    out = [BANNER.format("enums.txt"), """/*
 * flags: the CLR's enumerations. Each enumeration is a uint32_t, so that its size in structures and
 * calls is the same everywhere; its values are constants. Values beyond INT_MAX are macros.
 */
#ifndef CLARINET_FLAGS_H
#define CLARINET_FLAGS_H

#include <stdint.h>
"""]
    small, large = [], []
    guarded = False

    def flush():  # reads `guarded` of the enumeration that ends here
        if small and guarded:
            out.append("#ifndef _WINNT_ /* winnt.h has these */")
        if small:
            out.append("enum {\n%s\n};" % "\n".join("    %s = %s," % x for x in small))
        out.extend("#define %s %su" % x for x in large)
        if small and guarded:
            out.append("#endif")
        small.clear()
        large.clear()

    for line in lines_of("enums.txt"):
        name, value = line.split()
        if name == "enum":
            flush()
            guarded = value in ("ClrImageNumbers", "ClrHeaderNumbers")
            out.append("\ntypedef uint32_t %s;" % value)
        elif -2**31 <= int(value, 0) < 2**31:
            small.append((name, value))
        else:
            large.append((name, value))
    flush()
    out.append("\n#endif")
    return "\n".join(out) + "\n"


HRESULT_PREFIXES = ["CORPROF_E_", "COR_E_", "META_E_", "CLDB_E_"]


def pack_result(name):
    for i, prefix in enumerate(HRESULT_PREFIXES):
        if name.startswith(prefix):
            return '\\%d" "%s' % (i + 1, name[len(prefix):])
    return name


def make_hresults():
    out = [BANNER.format("hresults.txt"), """/*
 * hresults: the CLR's result codes. CLR_HRESULT_LIST(X) calls X(name, value) for each. Where
 * windows.h has a name already, that one stays. CLR_HRESULT_NAMES are the names in that order for
 * clr_hresult_name(), one behind the other: one that begins with a byte n below 32 has the n-th of
 * CLR_HRESULT_PREFIXES in its place.
 */
#ifndef CLARINET_HRESULTS_H
#define CLARINET_HRESULTS_H

#include "clarinet/types.h"
"""]
    rows = [line.split() for line in lines_of("hresults.txt")]
    for name, value in rows:
        out.append("#ifndef %s\n#define %s ((HRESULT)%su)\n#endif" % (name, name, value))
    out.append("\n#define CLR_HRESULT_LIST(X) \\")
    out += ["    X(%s, %su) \\" % (name, value) for name, value in rows[:-1]]
    out.append("    X(%s, %su)" % tuple(rows[-1]))
    out.append('\n#define CLR_HRESULT_PREFIXES "%s"' % "\\0".join(HRESULT_PREFIXES))
    out.append("#define CLR_HRESULT_NAMES \\")
    out += ['    "%s\\0" \\' % pack_result(name) for name, _ in rows[:-1]]
    out.append('    "%s"' % pack_result(rows[-1][0]))
    out.append("\n#endif")
    return "\n".join(out) + "\n"


def zero_of(kind):
    """An argument that says nothing, for a call whose slot is all that matters."""
    return "config" if kind == "COR_PRF_EVENTPIPE_PROVIDER_CONFIG" else "0"


def make_test_table(interfaces):
    out = [BANNER.format("")]
    bases = {interface.base for interface in interfaces.values()}
    for interface in interfaces.values():
        out.append("IID(%s)" % interface.name)
    for interface in interfaces.values():
        newest = [x.name for x in interfaces.values() if x.name not in bases
                  and any(m.owner == interface.name for m in chain(interfaces, x.name))]
        out += ["SLOT(%s, %s, %s)" % (interface.name, newest[0], method.clr_name)
                for method in interface.methods]
    for prefix, name in [("clr_info", INFO)] + FAMILIES:
        for method in chain(interfaces, name):
            first = "&info" if name == INFO else "object"
            arguments = ", ".join([first] + [zero_of(p.type) for p in method.parameters])
            out.append("CALL(%s, %s, %s_%s(%s))" % (
                method.owner, method.clr_name, prefix, method.name, arguments))
    out += ["CALLBACK(%s, %s)" % (method.clr_name, method.name)
            for method in chain(interfaces, CALLBACK)]
    out += ["FLAG(%s)" % line.split()[0] for line in lines_of("enums.txt")
            if not line.startswith("enum ")]
    out += ["RESULT(%s)" % line.split()[0] for line in lines_of("hresults.txt")]
    return "\n".join(out) + "\n"


def main():
    interfaces = read_interfaces()
    files = {
        "include/clarinet/interfaces.h": make_interfaces(interfaces),
        "include/clarinet/calls.h": make_calls(interfaces),
        "include/clarinet/callbacks.h": make_callbacks(interfaces),
        "include/clarinet/flags.h": make_flags(),
        "include/clarinet/hresults.h": make_hresults(),
        "src/clr/callback_table.c": make_callback_table(interfaces),
        "src/clr/iids.c": make_iids(interfaces),
        "tests/support/clr_table.inc": make_test_table(interfaces),
    }
    stale = 0
    for name, text in files.items():
        path = ROOT / name
        text = "/* clang-format off */\n" + text
        if path.exists() and path.read_text() == text:
            continue
        if "--check" in sys.argv[1:]:
            print("%s is not what the tables say: run tools/clr/generate.py" % name)
            stale = 1
        else:
            path.write_text(text)
    return stale


if __name__ == "__main__":
    sys.exit(main())
