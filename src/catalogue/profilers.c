/*
 * The table of profilers. A row here plus one file in src/profilers, one sample, one test and one
 * page make a profiler. Only what works is listed.
 */
#include "catalogue/catalogue.h"

/* What only a person reads stays out of the agent. */
#ifdef CLARINET_IN_TARGET
#define FOR_PEOPLE(text) NULL
#else
#define FOR_PEOPLE(text) text
#endif

#define END_OF_PARAMETERS                                                                          \
    {                                                                                              \
        NULL, CATALOGUE_NUMBER, NULL, 0, 0, NULL, NULL                                             \
    }

static const catalogue_parameter CPU[] = {
    {"interval", CATALOGUE_DURATION, "10ms", 1000000, 1000000000, NULL,
     FOR_PEOPLE("processor time between two samples of a thread; the kernel's tick is the finest "
                "there is")},
    {"threads", CATALOGUE_TEXT, "*", 0, 0, NULL,
     FOR_PEOPLE("only threads whose name matches (* and ? are wildcards)")},
    {"native", CATALOGUE_BOOLEAN, "true", 0, 1, NULL,
     FOR_PEOPLE("show frames of native code and of the runtime itself")},
    {"async", CATALOGUE_BOOLEAN, "true", 0, 1, NULL,
     FOR_PEOPLE(
         "show what runs after an await under the methods that await it, where they are known")},
    {"max_depth", CATALOGUE_NUMBER, "512", 8, 4096, NULL,
     FOR_PEOPLE("frames kept of a stack, from the leaf; deeper ones show (truncated)")},
    {"clock", CATALOGUE_CHOICE, "cpu", 0, 0, "cpu|monotonic",
     FOR_PEOPLE("what the timers count: processor time, or (for stress tests) time on the wall")},
    END_OF_PARAMETERS,
};

static const catalogue_parameter WALL[] = {
    {"interval", CATALOGUE_DURATION, "10ms", 1000000, 1000000000, NULL,
     FOR_PEOPLE("time between two looks at a thread")},
    {"threads", CATALOGUE_TEXT, "*", 0, 0, NULL,
     FOR_PEOPLE("only threads whose name matches (* and ? are wildcards)")},
    {"native", CATALOGUE_BOOLEAN, "true", 0, 1, NULL,
     FOR_PEOPLE("show frames of native code and of the runtime itself")},
    {"async", CATALOGUE_BOOLEAN, "true", 0, 1, NULL,
     FOR_PEOPLE(
         "show what runs after an await under the methods that await it, where they are known")},
    {"max_depth", CATALOGUE_NUMBER, "512", 8, 4096, NULL,
     FOR_PEOPLE("frames kept of a stack, from the leaf; deeper ones show (truncated)")},
    END_OF_PARAMETERS,
};

static const catalogue_parameter EXCEPTIONS[] = {
    {"stacks", CATALOGUE_NUMBER, "100", 1, 100000, NULL,
     FOR_PEOPLE("stacks per second and thread for each exception type; the rest is counted without "
                "a stack")},
    {"depth", CATALOGUE_NUMBER, "64", 1, 512, NULL,
     FOR_PEOPLE("frames kept of each stack, from the throw up")},
    {"distinct", CATALOGUE_NUMBER, "10000", 1, 1000000, NULL,
     FOR_PEOPLE("different stacks kept; later ones are recorded without a stack")},
    {"messages", CATALOGUE_BOOLEAN, "true", 0, 1, NULL,
     FOR_PEOPLE("record the message text (switch off when messages hold personal data)")},
    END_OF_PARAMETERS,
};

static const catalogue_parameter TRACE[] = {
    {"methods", CATALOGUE_TEXT, "", 0, 0, NULL,
     FOR_PEOPLE("which methods: Namespace.Type::Method with * and ?, [Assembly] before it, (types) "
                "after it, "
                "@Attribute, ! for not; several apart by blanks")},
    {"dry_run", CATALOGUE_BOOLEAN, "false", 0, 1, NULL,
     FOR_PEOPLE("only list the methods that are meant; nothing is changed")},
    {"values", CATALOGUE_BOOLEAN, "false", 0, 1, NULL,
     FOR_PEOPLE("also record single calls with their arguments and result")},
    {"slower_than", CATALOGUE_DURATION, "0s", 0, 3600000000000, NULL,
     FOR_PEOPLE("with values: only calls that took at least so long")},
    {"rate", CATALOGUE_NUMBER, "100", 1, 10000, NULL,
     FOR_PEOPLE("with values: at most so many calls a second")},
    {"show", CATALOGUE_TEXT, "", 0, 0, NULL,
     FOR_PEOPLE("single calls with these values: parameters, argN, this, result and fields of them "
                "after dots "
                "(customer.Name), apart by commas; * = all arguments and the result")},
    {"on", CATALOGUE_TEXT, "exit", 0, 0, NULL,
     FOR_PEOPLE("with values: when a call is recorded: entry, exit, exception, or several apart by "
                "commas")},
    {"when", CATALOGUE_TEXT, "", 0, 0, NULL,
     FOR_PEOPLE(
         "with values: only calls for which this holds: arg0 > 100 && customer.Name == \"Ann\"")},
    {"log", CATALOGUE_TEXT, "", 0, 0, NULL,
     FOR_PEOPLE("a method and a line of text with {values} in it, recorded whenever the method is "
                "called")},
    {"redact", CATALOGUE_TEXT, "", 0, 0, NULL,
     FOR_PEOPLE("more words that make a name secret (its value is not recorded), apart by commas")},
    {"tree", CATALOGUE_BOOLEAN, "false", 0, 1, NULL,
     FOR_PEOPLE("also who called whom among the chosen methods")},
    {"methods_file", CATALOGUE_TEXT, "", 0, 0, NULL,
     FOR_PEOPLE("a file with more of them, which the program can read")},
    {"spans", CATALOGUE_BOOLEAN, "false", 0, 1, NULL,
     FOR_PEOPLE("record every call as a span with the span around it, through awaits, instead of "
                "counting")},
    END_OF_PARAMETERS,
};

static const catalogue_parameter THREADS[] = {
    {"interval", CATALOGUE_DURATION, "0", 0, UINT64_C(3600000000000), NULL,
     FOR_PEOPLE("time between two looks; 0 looks once")},
    END_OF_PARAMETERS,
};

static const catalogue_parameter HEAP[] = {
    {"strings", CATALOGUE_BOOLEAN, "true", 0, 1, NULL,
     FOR_PEOPLE(
         "compare the texts of strings and keep those that repeat; off keeps their lengths only")},
    {"quick", CATALOGUE_BOOLEAN, "false", 0, 1, NULL,
     FOR_PEOPLE(
         "without a collection and without what keeps objects alive; counts dead objects too "
         "(.NET 9 and later)")},
    {"collect", CATALOGUE_BOOLEAN, "true", 0, 1, NULL,
     FOR_PEOPLE(
         "a quick one may collect once where nothing else tells whether a collection runs in the "
         "background; off takes none then")},
    {"values", CATALOGUE_BOOLEAN, "false", 0, 1, NULL,
     FOR_PEOPLE("also keep the values in tasks, timers and the thread pool, which `clarinet tasks` "
                "reads")},
    {"fields", CATALOGUE_TEXT, "", 0, 0, NULL,
     FOR_PEOPLE("types whose objects keep the values of their fields, by commas; of all of them "
                "together 4 MB")},
    END_OF_PARAMETERS,
};

static const catalogue_parameter CONTENTION[] = {
    {"stacks", CATALOGUE_NUMBER, "100", 1, 100000, NULL,
     FOR_PEOPLE("stacks per second and thread for each lock type; the rest is counted and timed "
                "without one")},
    {"depth", CATALOGUE_NUMBER, "64", 1, 512, NULL,
     FOR_PEOPLE("frames kept of each stack, from the wait up")},
    {"waits", CATALOGUE_BOOLEAN, "false", 0, 1, NULL,
     FOR_PEOPLE("also waits for events, semaphores and other handles, and Monitor.Wait (.NET 9 and "
                "later)")},
    {"holders", CATALOGUE_BOOLEAN, "true", 0, 1, NULL,
     FOR_PEOPLE("also stacks of the threads that hold the locks, by a signal, at most 100 a second "
                "of each")},
    END_OF_PARAMETERS,
};

static const catalogue_parameter PAUSES[] = {
    {"slow", CATALOGUE_DURATION, "1ms", 1000, 10000000000, NULL,
     FOR_PEOPLE("when stopping all threads takes longer than this, the last one is named, with its "
                "stack")},
    END_OF_PARAMETERS,
};

static const catalogue_parameter ALLOCATIONS[] = {
    {"rate", CATALOGUE_NUMBER, "1000", 10, 100000, NULL,
     FOR_PEOPLE("samples a second at most; beyond it a random part is kept and weighs more")},
    {"depth", CATALOGUE_NUMBER, "64", 1, 512, NULL, FOR_PEOPLE("frames kept of each stack")},
    {"live", CATALOGUE_BOOLEAN, "false", 0, 1, NULL,
     FOR_PEOPLE(
         "also which of the sampled objects are alive at the end, after one full collection")},
    {"exact", CATALOGUE_BOOLEAN, "false", 0, 1, NULL,
     FOR_PEOPLE(
         "count every object instead of sampling: only in a program that clarinet starts; a few us "
         "each")},
    END_OF_PARAMETERS,
};

static const catalogue_parameter JIT[] = {
    {"inlining", CATALOGUE_BOOLEAN, "false", 0, 1, NULL,
     FOR_PEOPLE("also calls that the compiler did not inline, and its reason")},
    END_OF_PARAMETERS,
};

static const catalogue_parameter COUNTERS[] = {
    {"interval", CATALOGUE_DURATION, "1s", 100000000, UINT64_C(3600000000000), NULL,
     FOR_PEOPLE("time between two values of a counter")},
    {"meters", CATALOGUE_TEXT, "", 0, 0, NULL,
     FOR_PEOPLE("also instruments of these meters, apart by commas: a meter's name, or "
                "METER\\INSTRUMENT; of "
                "a "
                "running process")},
    {"find", CATALOGUE_BOOLEAN, "true", 0, 1, NULL,
     FOR_PEOPLE("look for event sources with counters in the program's assemblies, and read them")},
    {"sources", CATALOGUE_TEXT, "", 0, 0, NULL,
     FOR_PEOPLE(
         "also the EventCounters of these event sources, apart by commas: the program's own, "
         "or a library's")},
    END_OF_PARAMETERS,
};

static const catalogue_parameter HTTP[] = {
    {"status", CATALOGUE_BOOLEAN, "true", 0, 1, NULL,
     FOR_PEOPLE("the status and the route of requests that are served; without it failures are "
                "exceptions nobody caught, and names are paths")},
    END_OF_PARAMETERS,
};

const catalogue_profiler CATALOGUE[] = {
    {"cpu", FOR_PEOPLE("3b7f1c52-8f0e-4f5a-9a60-6d2f0e1c7a02"),
     FOR_PEOPLE(
         "where processor time goes: stacks with lines, native code and the runtime included"),
     FOR_PEOPLE("about 0.1 % of a busy core at 10 ms; nothing on threads that sleep"),
     CATALOGUE_ATTACH | CATALOGUE_START | CATALOGUE_BESIDE, false, CPU},
    {"wall", FOR_PEOPLE("3b7f1c52-8f0e-4f5a-9a60-6d2f0e1c7a03"),
     FOR_PEOPLE("what every managed thread does, running or waiting: stack and state over time"),
     FOR_PEOPLE("a fraction of a percent; sleeping threads are not woken"),
     CATALOGUE_ATTACH | CATALOGUE_START | CATALOGUE_BESIDE, false, WALL},
    {"exceptions", FOR_PEOPLE("3b7f1c52-8f0e-4f5a-9a60-6d2f0e1c7a01"),
     FOR_PEOPLE("exceptions thrown: type, message, stack, where caught, rate over time"),
     FOR_PEOPLE("nothing while none are thrown; 0.1 to 2 us per exception"),
     CATALOGUE_ATTACH | CATALOGUE_START | CATALOGUE_BESIDE, false, EXCEPTIONS},
    {"gc", FOR_PEOPLE("3b7f1c52-8f0e-4f5a-9a60-6d2f0e1c7a04"),
     FOR_PEOPLE(
         "every garbage collection: generation, reason, pause, heap sizes; who called GC.Collect"),
     FOR_PEOPLE("a few microseconds per collection"),
     CATALOGUE_ATTACH | CATALOGUE_START | CATALOGUE_BESIDE, false, NULL},
    {"trace", FOR_PEOPLE("3b7f1c52-8f0e-4f5a-9a60-6d2f0e1c7a20"),
     FOR_PEOPLE(
         "chosen methods: calls, failures and time of each, by rewriting them while they run"),
     FOR_PEOPLE("about 30 ns a call of a chosen method, nothing for others; the library stays in "
                "the process"),
     CATALOGUE_ATTACH | CATALOGUE_START | CATALOGUE_MAIN, true, TRACE},
    {"threads", FOR_PEOPLE("3b7f1c52-8f0e-4f5a-9a60-6d2f0e1c7a05"),
     FOR_PEOPLE(
         "every thread at one moment: stack, CPU time, the monitor it waits for and who owns it"),
     FOR_PEOPLE("the program stands still for about 20 us a thread"),
     CATALOGUE_ATTACH | CATALOGUE_START | CATALOGUE_BESIDE, false, THREADS},
    {"contention", FOR_PEOPLE("3b7f1c52-8f0e-4f5a-9a60-6d2f0e1c7a10"),
     FOR_PEOPLE(
         "waits for locks: who waited, for whom, how long, type of the lock, stacks of both"),
     FOR_PEOPLE("nothing while no thread waits; 1 to 3 us per wait, taken while it waits"),
     CATALOGUE_ATTACH | CATALOGUE_START | CATALOGUE_BESIDE, false, CONTENTION},
    {"heap", FOR_PEOPLE("3b7f1c52-8f0e-4f5a-9a60-6d2f0e1c7a06"),
     FOR_PEOPLE("one snapshot of the heap: every object, its type and references, and what keeps "
                "it alive"),
     FOR_PEOPLE("one full garbage collection and a pause of about 0.1 s per million objects"),
     CATALOGUE_ATTACH | CATALOGUE_BESIDE, true, HEAP},
    {"pauses", FOR_PEOPLE("3b7f1c52-8f0e-4f5a-9a60-6d2f0e1c7a11"),
     FOR_PEOPLE("every moment the runtime stands still: reason, length, and who was slow to stop"),
     FOR_PEOPLE("under a microsecond per pause and thread"),
     CATALOGUE_ATTACH | CATALOGUE_START | CATALOGUE_BESIDE, false, PAUSES},
    {"allocations", FOR_PEOPLE("3b7f1c52-8f0e-4f5a-9a60-6d2f0e1c7a12"),
     FOR_PEOPLE(
         "what is allocated, by type and stack: estimated from samples; large objects exactly"),
     FOR_PEOPLE("about 2 us per 100 KB allocated, and per large object"),
     CATALOGUE_ATTACH | CATALOGUE_START | CATALOGUE_BESIDE, false, ALLOCATIONS},
    {"jit", FOR_PEOPLE("3b7f1c52-8f0e-4f5a-9a60-6d2f0e1c7a13"),
     FOR_PEOPLE("what is compiled while the program runs: methods, tiers, time, sizes"),
     FOR_PEOPLE("a few microseconds per compiled method"),
     CATALOGUE_ATTACH | CATALOGUE_START | CATALOGUE_BESIDE, false, JIT},
    {"counters", FOR_PEOPLE("3b7f1c52-8f0e-4f5a-9a60-6d2f0e1c7a14"),
     FOR_PEOPLE("counters of the runtime, of libraries and of the program over time"),
     FOR_PEOPLE("about 30 values an interval, of a web service 60"),
     CATALOGUE_ATTACH | CATALOGUE_START | CATALOGUE_BESIDE, false, COUNTERS},
    {"http", FOR_PEOPLE("3b7f1c52-8f0e-4f5a-9a60-6d2f0e1c7a15"),
     FOR_PEOPLE("requests that ASP.NET Core serves and HttpClient makes: how many, how long, which "
                "failed"),
     FOR_PEOPLE("2 to 5 us of processor time per request, a little less without the status"),
     CATALOGUE_ATTACH | CATALOGUE_START | CATALOGUE_BESIDE, false, HTTP},
    {"transitions", FOR_PEOPLE("3b7f1c52-8f0e-4f5a-9a60-6d2f0e1c7a16"),
     FOR_PEOPLE("calls from managed into native code and back: functions, counts, time"),
     FOR_PEOPLE(
         "0.2 to 0.3 us per call; the program starts slower, as precompiled code is compiled anew"),
     CATALOGUE_START | CATALOGUE_BESIDE, false, NULL},
    {NULL, NULL, NULL, NULL, 0, false, NULL},
};
