/* cli: the table of verbs and what they share. See cli.h. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/plain.h"
#include "diagnostics/secrets.h"

const cli_verb CLI_VERBS[] = {
    {"ps", "[--json] [--watch]", "list the .NET processes that can be examined", verb_ps,
     "      --json   an array of objects, for machines\n"
     "  -w, --watch  list again every 2 seconds until Ctrl-C (with --json: one array a line)\n\n"
     "Shows processes of all users, in containers too, as far as this user may see them.\n"
     "A process that cannot be attached to is listed with the reason.\n"},
    {"checkup", "[-d DURATION] [-o OUT] (PID|NAME | -- CMD ARG…)",
     "look at a program from all sides and say what is wrong with it", verb_checkup,
     "  -d, --duration TIME     how long: 500ms, 30s, 5m; 10s without it, a command to its end\n"
     "  -o, --output OUT        the report; by default NAME-PID-TIME.html, the recording beside "
     "it\n"
     "  -f, --format text|md|json  of what is printed; text without it\n"
     "      --json[=FILE]       the same as -f json, for machines\n"
     "      --fail-on SEVERITY  exit 3 on findings from info, warning or critical on\n"
     "      --also NAME         profilers to run besides, as http; one or more\n"
     "      --heap              a snapshot of the heap at the end: one full collection and a "
     "pause\n"
     "      --no-heap           not even a quick look at a small heap\n"
     "      --baseline FILE     a recording: leave out what was found in it too\n"
     "      --thresholds FILE   lines 'name = number' instead of the built-in thresholds\n\n"
     "Findings are sorted by severity, each with its numbers, the stack that matters and what to\n"
     "do. Everything recorded is in OUT, one page without network access. Ctrl-C stops early and\n"
     "tells what was seen. After -- our words go to standard error, and the command's exit code\n"
     "is passed through.\n\n"
     "Examples:\n"
     "  clarinet checkup 4711\n"
     "  clarinet checkup --json --fail-on warning shop > checkup.json\n"
     "  clarinet checkup -- dotnet Shop.dll\n"},
    {"launch", "[--profiler LIB --clsid ID] [--env NAME=VALUE] [--sdk] -- CMD…",
     "run a program under a CLR profiler library", verb_launch,
     "      --profiler LIB    the profiler's library; the SDK's example `hello` without it\n"
     "      --clsid ID        the profiler's class, as {xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx}\n"
     "      --env NAME=VALUE  a variable for the program; may be given several times\n"
     "      --sdk             profile the dotnet CLI, MSBuild and the compiler too\n\n"
     "The library is checked and tried out first; what is wrong with it is said in words.\n"
     "With `dotnet run` and `dotnet test` the program is profiled, not the dotnet CLI.\n"
     "The exit code is the program's; signals are passed on.\n\n"
     "Examples:\n"
     "  clarinet launch -- dotnet app.dll\n"
     "  clarinet launch --profiler ./libmine.so --clsid {…} -- dotnet test\n"},
    {"trace", "[-d DURATION] [--dry-run] [--json] PID PATTERN… or PATTERN… -- CMD…",
     "count and time chosen methods of a running program", verb_trace,
     "  -d, --duration DURATION  how long; without it until Ctrl-C or the program's end\n"
     "  -n, --dry-run            only list the methods that are meant; nothing is changed\n"
     "      --json[=FILE]        an array of objects, for machines\n"
     "  -a, --all                every method that was called, not only the first 40\n"
     "  -o, --output FILE        keep the recording\n"
     "      --tree               who called whom among the traced methods\n"
     "      --args[=PATHS]       single calls with arguments and result, or with these values:\n"
     "                           id,customer.Name,result\n"
     "      --slower-than TIME   the same, only of calls that took so long\n"
     "      --when CONDITION     only of calls for which it holds: 'arg0 > 100'\n"
     "      --on MOMENTS         when they are shown: entry, exit (the default), exception\n"
     "      --log TEXT           a line whenever a method is called: 'Type::Method got {id}'\n"
     "      --redact WORDS       more names whose values are not shown\n"
     "      --rate NUMBER        at most so many single calls a second (100)\n\n"
     "A pattern is Namespace.Type::Method with * and ?, [Assembly] before it, (int, string) after\n"
     "it, @Attribute, or ! and a pattern for methods to leave out. Methods are rewritten while "
     "the\n"
     "program runs and restored at the end; counting begins with a method's next call.\n\n"
     "Examples:\n"
     "  clarinet trace -d 10s 1234 'Shop.Orders::Place*'\n"
     "  clarinet trace -n shop '[Shop]*' '!*::get_*'\n"},
    {"heap", "PID|FILE [--type NAME [--paths]] [-o FILE] | diff BEFORE AFTER... | watch PID",
     "show what fills the memory and what keeps it alive", verb_heap,
     "  -o, --output FILE  keep the snapshot\n"
     "      --top N        rows of each table; 25 without it\n"
     "      --by ORDER     retained, bytes or count\n"
     "      --group WHAT   by namespace or by assembly instead of by type\n"
     "      --type NAME    only these types; * and ? are understood\n"
     "      --paths        the shortest ways from roots to the objects of --type\n"
     "      --objects      the single objects of --type, with their fields\n"
     "      --depth N      of --paths: steps of each way\n"
     "      --least-objects N, --least-bytes N\n"
     "                     of --paths: steps that lead to fewer are left out\n"
     "      --object ADDR  one object of a snapshot: who holds it, what it holds\n"
     "      --fields TYPES keep the values of numbers in objects of these types, by commas\n"
     "      --no-threads   no look at the threads before: whose stack keeps what is not said\n"
     "      --quick        no collection, no roots, dead objects included; .NET 9 and later\n"
     "      --strings N    equal strings that are shown (10); off: a snapshot takes no texts\n"
     "      --every TIME   of watch: between two snapshots (60s)\n"
     "      --count N      of watch: snapshots (3)\n"
     "      --json         one object, for machines\n\n"
     "A snapshot forces one full garbage collection; the program stands still meanwhile, about\n"
     "0.1 s per million objects. Retained is what would be "
     "freed if these objects went.\n"
     "diff shows the growth between snapshots, by type and by what keeps objects alive; of three\n"
     "and more it names what grows with every one. watch takes them and does the same.\n\n"
     "Examples:\n"
     "  clarinet heap 1234\n"
     "  clarinet heap shop.clarinet --type 'Shop.Order' --paths\n"
     "  clarinet heap diff before.clarinet after.clarinet\n"
     "  clarinet heap watch --every 60s --count 5 1234\n"},
    {"il", "ASSEMBLY|PROGRAM [PATTERN…] [--list] [--check] [--probed] [--assembly NAME]",
     "show the CIL of an assembly's methods", verb_il,
     "      --list   names only\n"
     "      --check  look through all bodies and show only wrong ones; exit 1 if there are any\n"
     "      --probed after each body the same with the probes of a trace, or why it has none\n"
     "      --assembly NAME of a program that was published as one file: which of its assemblies,\n"
     "               where it is not the program's own\n"
     "      --assemblies list them\n\n"
     "PATTERN is as for trace: Namespace.Type::Method with * and ?, a type or a method alone,\n"
     "Method(int, string) for one overload, [Assembly] before it, @Attribute, or ! and a pattern\n"
     "for methods to leave out. Source lines are shown when the PDB lies beside the assembly or\n"
     "in it. The assembly is read from its file: no runtime and no process is needed.\n\n"
     "Examples:\n"
     "  clarinet il Shop.dll Shop.Orders::Place\n"
     "  clarinet il Shop.dll 'Shop.*::get_*' --list\n"
     "  clarinet il Shop.dll @HttpGet '!*Async' --list\n"
     "  clarinet il Shop.dll Shop.Orders::Place --probed\n"},
    {"report", "FILE [-f FORMAT] [-o OUT]", "turn a recording into a report", verb_report,
     "  -f, --format html|md|json|speedscope|pprof|collapsed|chrome|otlp|otlp-profile\n"
     "                       without it what OUT ends in decides\n"
     "  -o, --output OUT     the file to write; without it standard output\n"
     "  -p, --profiler NAME  only this profiler; formats with one profile take cpu, else wall\n"
     "      --process WHICH  only the process with this pid or name\n"
     "      --thread WHICH   only threads with this OS id or name; * and ? are understood\n"
     "      --method NAME    md, json: callers and callees of these methods; * and ? understood\n"
     "      --from TIME      leave out what was before, counted from the start: 1.5s, 200ms\n"
     "      --to TIME        leave out what came after\n"
     "      --state STATE    only running, lock, sleep, io, gc or wait\n"
     "      --top N          entries of each ranking\n"
     "      --threads        collapsed: the thread as first frame\n"
     "      --no-source      html: no source text, even where the files are found here\n\n"
     "FILE may be - for standard input, a .nettrace file of dotnet-trace, or a profile in pprof's\n"
     "format. A damaged recording is read up to its last good part.\n\n"
     "Examples:\n"
     "  clarinet report shop.clarinet -o report.html\n"
     "  clarinet report shop.clarinet -f md --top 10\n"
     "  clarinet report shop.clarinet -f collapsed --threads | flamegraph.pl > flame.svg\n"},
    {"record",
     "-p NAME[,NAME…] [-d DURATION] [-o FILE] [--set SETTING]… (PID|NAME | [--sdk] -- CMD ARG…)",
     "record a process, or a command from its start", verb_record,
     "  -p, --profilers NAME   what to record, one or more; `clarinet profilers` lists them\n"
     "  -d, --duration TIME    how long: 500ms, 30s, 5m; without it until the target ends\n"
     "  -o, --output FILE      where to write; by default NAME-PID-TIME.clarinet; - is standard "
     "output\n"
     "      --set SETTING      a profiler's parameter, as exceptions.stacks=50\n"
     "      --sdk              of a command: the dotnet CLI, MSBuild and the compiler too\n\n"
     "Ctrl-C stops early and keeps all. After -- the command's exit code is passed through.\n\n"
     "Examples:\n"
     "  clarinet record -p exceptions -d 30s 4711\n"
     "  clarinet record -p exceptions -- dotnet Shop.dll\n"},
    {"profilers", "[--json]", "list what can be recorded, with parameters and cost", verb_profilers,
     "  --json   an array of objects, for machines\n"},
    {"diff", "BEFORE AFTER [-f FORMAT] [-o OUT]", "show what got slower between two recordings",
     verb_diff,
     "  -f, --format md|json|html|collapsed  without it what OUT ends in decides, else md\n"
     "  -o, --output OUT     the file to write; without it standard output\n"
     "  -p, --profiler NAME  compare this profiler's profile; cpu, else wall, without it\n"
     "      --process WHICH  only the process with this pid or name\n"
     "      --thread WHICH   only threads with this OS id or name; * and ? are understood\n"
     "      --absolute       compare weights as they are, not as shares of each recording\n"
     "      --top N          methods of each list\n\n"
     "html is a differential flame graph; collapsed has two weights a line, before and after.\n\n"
     "Example:\n"
     "  clarinet diff before.clarinet after.clarinet -o diff.html\n"},
    {"instrument",
     "run --otlp FILE|URL [--home DIR] [--points FILE] -- CMD… | explain [--json] -- CMD… | "
     "check DIR [--assembly FILE] | compare A B [--json] [--top N]",
     "run a program with spans for an APM's extension files; say what the agent would do",
     verb_instrument,
     "run: every call of a method that the extension files name becomes a span, with the span "
     "around\n"
     "it by execution flow, through threads and awaits. No managed agent is needed. The exit code "
     "is\n"
     "the command's.\n"
     "explain: whether the process of CMD would be instrumented, and the rule that decides it.\n"
     "check: reads a home folder as the agent does, and lists every instrumentation point and\n"
     "every problem with its file and line; exit 1 when a file is invalid or a point can't "
     "match.\n"
     "compare: where two event logs, or two folders of dumped bodies, part; exit 1 when something\n"
     "critical differs.\n\n"
     "      --otlp FILE|URL  run: where the spans go: a file (OTLP/JSON, one request a line), - "
     "for\n"
     "                       standard output, or a collector as http://127.0.0.1:4318\n"
     "      --home DIR       run: the home folder; without it the environment's\n"
     "      --points FILE    run: an extension file (XML or JSON) instead of a home folder; may "
     "be\n"
     "                       repeated\n"
     "      --json           explain, compare: for machines\n"
     "      --assembly FILE  check: say what becomes of each point in this assembly\n"
     "      --top N          compare: how many differences to show\n\n"
     "Examples:\n"
     "  clarinet instrument run --otlp spans.json --points shop.xml -- dotnet Shop.dll\n"
     "  clarinet instrument explain -- dotnet run\n"
     "  clarinet instrument check /usr/local/newrelic --assembly Shop.dll\n"
     "  clarinet instrument compare before.jsonl after.jsonl\n"},
    {"tasks", "PID|NAME|FILE [--json] [--filter TEXT] [-d TIME] [--top N] [-o FILE]",
     "show which async work is not done, who awaits whom, and what it waits for", verb_tasks,
     "      --json           for machines\n"
     "      --filter TEXT    chains with such a method, or that wait for such a thing; * and ? "
     "are\n"
     "                       understood\n"
     "  -d, --duration TIME  look twice, so far apart: what is the same then is stuck\n"
     "      --top N          how many kinds of chains to show\n"
     "  -o, --output FILE    keep the recording\n\n"
     "Async methods that wait, chained from what they really wait for (a timer, a socket, a\n"
     "TaskCompletionSource, a semaphore, a worker) up to the one that nobody awaits; equal chains\n"
     "are one with a count. Shows the thread pool with where its workers block. Takes one heap\n"
     "snapshot: the program stands still for about 0.1 s per million objects.\n\n"
     "Examples:\n"
     "  clarinet tasks Shop.Api\n"
     "  clarinet tasks 4711 -d 10s --filter 'Shop.*'\n"},
    {"threads",
     "PID|NAME|FILE | --core FILE [-d TIME] [--heap] [-f FMT] [--json] [--flat] [--filter TEXT] "
     "[--thread ID] "
     "[--watch] [--outside] [-o FILE]",
     "show what every thread does now, and who waits for whom", verb_threads,
     "  -f, --format FMT   text, json, md or html\n"
     "      --json         for machines: the same as -f json\n"
     "      --flat         one entry a thread, even where several stand at the same place\n"
     "      --filter TEXT  threads whose name or a method matches; * and ? are understood\n"
     "      --thread ID    one thread, by its OS id\n"
     "      --watch[=SECONDS]  look again every 2 seconds, until Ctrl-C; of a FILE, every look\n"
     "  -d, --duration TIME  several looks over this time: threads that leak or did nothing\n"
     "      --heap         with a snapshot of the heap: fields that hold locks, waits that nobody\n"
     "                     can end, Thread objects without a thread\n"
     "      --core         FILE is a core dump (createdump, gcore, the kernel): all stacks\n"
     "      --outside      without the runtime's help, as for a process that does not cooperate\n"
     "  -o, --output FILE  keep the recording\n\n"
     "Works on a process that is stuck already. Threads that wait for each other are shown first:\n"
     "by monitors, locks, reader-writer locks, joins, tasks and static constructors; cycles "
     "through\n"
     "mutexes and semaphores are suspected. The program stands still for about 20 us a thread.\n"
     "A process that does not cooperate (stopped, no answer on its diagnostics port) is looked at\n"
     "from outside: every stack, but no owners of locks. That needs the right to ptrace.\n"
     "FILE is a recording (NAME.clarinet) with the profiler threads.\n\n"
     "Examples:\n"
     "  clarinet threads Shop.Api\n"
     "  clarinet threads 4711 --filter 'Shop.*'\n"
     "  clarinet threads -d 5s --heap Shop.Api\n"},
    {"serve", "[--port N] [--socket PATH] [--sessions DIR] [--open] [--watch NAME]",
     "web page and REST API for all of this", verb_serve,
     "  -p, --port N         8473 without it; 0 takes any that is free\n"
     "      --bind ADDRESS   127.0.0.1 without it\n"
     "      --socket PATH    a Unix socket instead, for its owner only\n"
     "      --token TEXT     instead of a random one; '' for none, on this machine only\n"
     "      --host NAMES     further names of this machine that a browser may use, with commas\n"
     "      --sessions DIR   where sessions are kept; ~/.local/share/clarinet/sessions without it\n"
     "      --keep-size SIZE  of all sessions, as in 2G; the oldest go first\n"
     "      --keep-days N    older sessions go\n"
     "      --no-web-ui      the REST API only\n"
     "      --no-rest-api    the page only; programs are refused\n"
     "      --open           open the page in a window\n"
     "      --allow-commands  sessions may start a program, as the user of this server\n"
     "      --watch NAME     look at this PID or name (* and ? understood) by itself, now and "
     "then\n"
     "      --every TIME     between two looks; 10m without it, 0 for triggers only\n"
     "      --for TIME       length of a look; 30s without it\n"
     "      --trigger LIST   look at once: cpu=80/30s,memory=50/10m,errors=5/10s; none. Without\n"
     "                       it cpu and memory\n"
     "      --push-pprof URL  profiles to a receiver of Pyroscope's /ingest, as http://HOST:4040\n"
     "      --push-otlp URL  metrics to an OpenTelemetry Collector, as http://HOST:4318\n"
     "      --push-otlp-profiles URL  profiles to a collector that takes that signal, the same\n\n"
     "Prints the address with the token that every request needs. Options have twins in the\n"
     "environment: CLARINET_PORT, CLARINET_BIND, CLARINET_SOCKET, CLARINET_TOKEN, CLARINET_HOST,\n"
     "CLARINET_SESSIONS, CLARINET_KEEP_SIZE, CLARINET_KEEP_DAYS, CLARINET_WATCH, CLARINET_EVERY,\n"
     "CLARINET_FOR, CLARINET_TRIGGER, CLARINET_PUSH_PPROF, CLARINET_PUSH_OTLP,\n"
     "CLARINET_PUSH_OTLP_PROFILES, CLARINET_ALLOW_COMMANDS. The API is described at "
     "/api/openapi.json. Ctrl-C stops the "
     "sessions that run and keeps them.\n\n"
     "Examples:\n"
     "  clarinet serve --open\n"
     "  clarinet serve --socket /run/clarinet.sock --no-web-ui\n"
     "  clarinet serve --watch Shop.Api --every 10m --for 30s --keep-days 7\n"},
    {"counters", "PID|NAME [-d DURATION] [-i INTERVAL] [-f FORMAT] [--listen PORT]",
     "show the counters of the runtime and of libraries, live", verb_counters,
     "  -d, --duration DURATION  how long (10s, 2m); without it until Ctrl-C\n"
     "  -i, --interval INTERVAL  time between two values (1s)\n"
     "  -f, --format FORMAT      text, json, csv or prometheus\n"
     "      --json               the same as -f json\n"
     "      --meters NAMES       also instruments of these meters, apart by commas\n"
     "      --sources NAMES      also the EventCounters of these event sources, apart by commas\n"
     "      --listen PORT        serve http://127.0.0.1:PORT/metrics; 0 takes a free port\n"
     "  -o, --output FILE        keep the recording\n\n"
     "On a terminal the screen shows the last values, in a pipe every value is a line.\n\n"
     "Examples:\n"
     "  clarinet counters Shop.Api\n"
     "  clarinet counters 4711 -d 1m -f csv > counters.csv\n"
     "  clarinet counters 4711 --listen 9184\n"},
    {"top", "PID|NAME", "watch a process live in the whole terminal", verb_top,
     "Methods and threads by processor time, allocations, exceptions, locks, requests and\n"
     "collections of the last 5 seconds, drawn once a second. Keys: 1 to 7 choose a list, s "
     "sorts,\n"
     "/ filters, p pauses, q leaves. Nothing is kept; the agent lets go at the end.\n\n"
     "Example:\n"
     "  clarinet top 4711\n"},
    {"completion", "bash|zsh|fish", "print a shell completion script", verb_completion,
     "Examples:\n"
     "  source <(clarinet completion bash)\n"
     "  clarinet completion zsh > ~/.zfunc/_clarinet\n"
     "  clarinet completion fish > ~/.config/fish/completions/clarinet.fish\n"},
    {"version", "", "print the version", verb_version, ""},
    {NULL, NULL, NULL, NULL, NULL},
};

/* Nobody's message of the many that follow from this would say what is wrong. */
bool cli_has_descriptors(const cli_verb *verb)
{
    enum { NEEDED = 7 };
    int opened[NEEDED];
    int count = 0;
    bool enough;

    if (verb->run == verb_version || verb->run == verb_completion)
        return true;
    while (count < NEEDED && (opened[count] = open("/", O_PATH | O_CLOEXEC)) >= 0)
        count++;
    enough = count == NEEDED || errno != EMFILE;
    for (int i = 0; i < count; i++)
        close(opened[i]);
    if (!enough)
        fprintf(stderr,
                "clarinet: too few open files: only %d more may be opened, clarinet needs %d; "
                "nothing was touched\n  raise the limit: `ulimit -n 1024`\n",
                count, NEEDED);
    return enough;
}

int cli_fail(const error *e)
{
    error shown = *e;

    plain_clean(shown.message, false);
    plain_clean(shown.advice, false);
    fprintf(stderr, "clarinet: %s\n", shown.message);
    if (shown.advice[0] != '\0')
        fprintf(stderr, "  %s\n", shown.advice);
    return e->code == ERROR_USAGE ? CLI_USAGE : CLI_FAILED;
}

void cli_print_help(const cli_verb *verb, FILE *out)
{
    fprintf(out, "usage: clarinet %s%s%s\n\n%s\n", verb->name,
            verb->arguments[0] == '\0' ? "" : " ", verb->arguments, verb->summary);
    if (verb->help[0] != '\0')
        fprintf(out, "\n%s", verb->help);
}

void cli_append_typed(buffer *out, const char *before, int argc, char *const *argv)
{
    buffer words = BUFFER_EMPTY;

    for (int i = 0; i < argc; i++)
        buffer_append(&words, argv[i], strlen(argv[i]) + 1);
    buffer_format(out, "%s ", before);
    secrets_append_command(out, buffer_text(&words), words.length, '\0');
    buffer_free(&words);
}

int cli_find_command(int argc, char *const *argv)
{
    int at = 1;

    while (at < argc && strcmp(argv[at], "--") != 0)
        at++;
    return at < argc ? at : argc;
}

bool cli_has_colour(FILE *stream)
{
    const char *no_colour = getenv("NO_COLOR");

    return (no_colour == NULL || no_colour[0] == '\0') && isatty(fileno(stream));
}

int cli_open_stop_descriptor(sigset_t *before)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, before);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

void cli_show_line(const char *format, ...)
{
    struct winsize size;
    char line[512];
    size_t room;
    size_t end = 0;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    room = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col - 1u : 79;
    /* a column for each character; the bytes 10xxxxxx go on with one */
    while (line[end] != '\0' && (((unsigned char)line[end] & 0xc0) == 0x80 || room-- != 0))
        end++;
    fprintf(stderr, "\r\033[K%.*s", (int)end, line);
    fflush(stderr);
}
