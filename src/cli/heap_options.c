/* heap_options: see heap_options.h. */
#include "cli/heap_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "cli/bad_option.h"

enum { ROWS = 25, TEXTS = 10, TEXT_SIZE = 48, WASTE = 5 };

static int usage(error *e, const char *what)
{
    error_set(e, ERROR_USAGE, "%s", what);
    return error_advise(e, "for example: clarinet heap 1234, or: clarinet heap diff a.clarinet "
                           "b.clarinet");
}

static int take_order(const char *value, heap_order *order, error *e)
{
    static const char *const NAMES[] = {"retained", "bytes", "count"};

    for (int i = 0; i < 3; i++) {
        if (text_equal(NAMES[i], value)) {
            *order = (heap_order)i;
            return 0;
        }
    }
    return error_set(e, ERROR_USAGE, "--by wants retained, bytes or count, not '%s'", value);
}

static int take_group(const char *value, heap_group_kind *group, error *e)
{
    if (text_equal(value, "namespace"))
        *group = HEAP_GROUP_NAMESPACE;
    else if (text_equal(value, "assembly"))
        *group = HEAP_GROUP_ASSEMBLY;
    else
        return error_set(e, ERROR_USAGE, "--group wants namespace or assembly, not '%s'", value);
    return 0;
}

/* --strings 20, --strings off: how many are shown; off keeps them out of a snapshot too. */
static int take_strings(heap_options *q, const char *value, error *e)
{
    uint64_t count;

    q->strings_off = text_equal(value, "off");
    if (q->strings_off)
        return 0;
    if (!text_to_u64(value, &count) || count > 1000000)
        return error_set(e, ERROR_USAGE, "--strings wants a number up to 1000000, or off, not '%s'",
                         value);
    q->report.texts = (size_t)count;
    q->strings_said = true;
    return 0;
}

/* --fields 'Shop.Order,Shop.Cache<T>': as metadata has the names, Shop.Order,Shop.Cache`1. */
static int take_fields(heap_options *q, const char *value, error *e)
{
    unsigned depth = 0, arguments = 0;
    buffer out;

    buffer_fix(&out, q->fields, sizeof q->fields);
    for (const char *at = value; *at != '\0'; at++) {
        if (*at == '<' && depth++ == 0)
            arguments = 1;
        else if (*at == ',' && depth == 1)
            arguments++;
        else if (*at == '>' && depth != 0 && --depth == 0)
            buffer_format(&out, "`%u", arguments);
        else if (depth == 0 && *at != ' ')
            buffer_append_char(&out, *at);
    }
    if (out.length == 0 || depth != 0 || buffer_failed(&out))
        return error_set(e, ERROR_USAGE, "--fields wants names of types, by commas, not '%s'",
                         value);
    q->fields_said = value;
    return 0;
}

static int take_option(heap_options *q, int option, error *e)
{
    uint64_t top;
    char *end;

    switch (option) {
    case 'o':
        if (strlen(optarg) >= sizeof q->kept - 16)
            return error_set(e, ERROR_USAGE, "the file's name is too long");
        snprintf(q->kept, sizeof q->kept, "%s", optarg);
        return 0;
    case 'e':
        if (catalogue_parse_duration(optarg, &q->every_ns, e) == 0 && q->every_ns == 0)
            return error_set(e, ERROR_USAGE, "--every wants a time of more than 0");
        return e->code;
    case 'n':
        if (!text_to_u64(optarg, &top) || top < 2 || top > HEAP_SERIES_MOST)
            return error_set(e, ERROR_USAGE, "--count wants a number from 2 to %d, not '%s'",
                             HEAP_SERIES_MOST, optarg);
        q->count = (size_t)top;
        return 0;
    case 't':
        if (!text_to_u64(optarg, &top) || top == 0 || top > 1000000)
            return error_set(e, ERROR_USAGE, "--top wants a number from 1 to 1000000, not '%s'",
                             optarg);
        q->report.top = (size_t)top;
        return 0;
    case 'b':
        q->by_said = true;
        return take_order(optarg, &q->report.order, e);
    case 'd':
    case 'O':
    case 'B':
        if (!text_to_u64(optarg, &top) || top > UINT32_MAX)
            return error_set(e, ERROR_USAGE, "%s wants a number up to %u, not '%s'",
                             option == 'd'   ? "--depth"
                             : option == 'O' ? "--least-objects"
                                             : "--least-bytes",
                             UINT32_MAX, optarg);
        if (option == 'd')
            q->report.depth = (size_t)top;
        else
            *(option == 'O' ? &q->report.least_objects : &q->report.least_bytes) = top;
        return 0;
    case 'g':
        return take_group(optarg, &q->report.group, e);
    case 'y':
        q->report.type = optarg;
        return 0;
    case 'a':
        q->one = true;
        q->address = strtoull(optarg, &end, 16);
        if (end == optarg || *end != '\0')
            return error_set(e, ERROR_USAGE, "--object wants an address like 0x7f00a0, not '%s'",
                             optarg);
        return 0;
    case 's':
        return take_strings(q, optarg, e);
    case 'p':
        q->report.paths = true;
        return 0;
    case 'f':
        return take_fields(q, optarg, e);
    case 'i':
        q->report.objects = true;
        return 0;
    case 'h':
        q->threads = true;
        return 0;
    case 'H':
        q->no_threads = true;
        return 0;
    case 'q':
        q->quick = true;
        return 0;
    default: /* j */
        q->json = true;
        return 0;
    }
}

bool heap_options_is_file(const char *name)
{
    struct stat status;
    uint64_t number;

    return !text_to_u64(name, &number) && stat(name, &status) == 0 && !S_ISDIR(status.st_mode);
}

/* What stands after the options. */
static int take_names(heap_options *q, int count, char **names, error *e)
{
    q->diff = count > 0 && text_equal(names[0], "diff");
    q->watch = count > 0 && text_equal(names[0], "watch");
    if (q->diff || q->watch) {
        names++;
        count--;
        if (!q->by_said)
            q->report.order = HEAP_BY_BYTES;
    }
    if (count == 0)
        return usage(e, "no process and no file is named");
    if (q->diff && count < 2)
        return usage(e, "diff compares two or more snapshots");
    if (q->diff && count > HEAP_SERIES_MOST)
        return error_set(e, ERROR_USAGE, "diff compares at most %d snapshots", HEAP_SERIES_MOST);
    if (!q->diff && count != 1)
        return usage(e, "heap takes one process or one file");
    if (!q->watch && (q->every_ns != 0 || q->count != 0))
        return usage(e, "--every and --count belong to watch");
    if (q->watch && heap_options_is_file(names[0]))
        return usage(e, "watch looks at a process");
    if (q->one && (q->diff || !heap_options_is_file(names[0])))
        return error_set(e, ERROR_USAGE,
                         "--object reads a snapshot: addresses change from one to "
                         "the next");
    if (q->report.paths && q->report.type == NULL)
        return error_set(e, ERROR_USAGE, "--paths needs --type NAME: the paths to these objects");
    if (q->report.objects && q->report.type == NULL)
        return error_set(e, ERROR_USAGE, "--objects needs --type NAME: these objects are shown");
    if (q->report.paths && q->report.objects)
        return error_set(e, ERROR_USAGE, "--paths shows ways and --objects the objects: take one");
    if (q->report.group != HEAP_GROUP_NONE && q->report.type != NULL)
        return error_set(e, ERROR_USAGE, "--group shows all types together, --type some: take one");
    if (q->diff || heap_options_is_file(names[0]) || text_equal(names[0], "-")) {
        const char *taking = q->fields_said != NULL ? "--fields"
                             : q->quick             ? "--quick"
                             : q->strings_off       ? "--strings off"
                             : q->kept[0] != '\0'   ? "-o"
                                                    : NULL;

        if (taking != NULL)
            return error_set(e, ERROR_USAGE, "%s belongs to taking a snapshot", taking);
    }
    if ((q->threads || q->no_threads) && (q->quick || q->diff || heap_options_is_file(names[0])))
        return error_set(e, ERROR_USAGE,
                         "--%sthreads belongs to taking a snapshot with what keeps objects alive",
                         q->threads ? "" : "no-");
    if (q->threads && q->no_threads)
        return error_set(e, ERROR_USAGE, "--threads and --no-threads are both given");
    if ((q->diff || q->watch) && (q->report.objects || q->report.group != HEAP_GROUP_NONE))
        return error_set(e, ERROR_USAGE, "--%s shows one snapshot; %s compares several",
                         q->report.objects ? "objects" : "group", q->diff ? "diff" : "watch");
    q->names = names;
    q->name_count = (size_t)count;
    return 0;
}

int heap_options_parse(int argc, char **argv, heap_options *q, error *e)
{
    static const char LETTERS[] = "o:";
    static const struct option OPTIONS[] = {{"output", required_argument, NULL, 'o'},
                                            {"top", required_argument, NULL, 't'},
                                            {"by", required_argument, NULL, 'b'},
                                            {"type", required_argument, NULL, 'y'},
                                            {"paths", no_argument, NULL, 'p'},
                                            {"objects", no_argument, NULL, 'i'},
                                            {"fields", required_argument, NULL, 'f'},
                                            {"threads", no_argument, NULL, 'h'},
                                            {"no-threads", no_argument, NULL, 'H'},
                                            {"object", required_argument, NULL, 'a'},
                                            {"quick", no_argument, NULL, 'q'},
                                            {"strings", required_argument, NULL, 's'},
                                            {"every", required_argument, NULL, 'e'},
                                            {"count", required_argument, NULL, 'n'},
                                            {"depth", required_argument, NULL, 'd'},
                                            {"least-objects", required_argument, NULL, 'O'},
                                            {"least-bytes", required_argument, NULL, 'B'},
                                            {"group", required_argument, NULL, 'g'},
                                            {"json", no_argument, NULL, 'j'},
                                            {NULL, 0, NULL, 0}};
    int option;

    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, LETTERS, OPTIONS, NULL)) != -1) {
        int code = option == '?' ? bad_option("heap", LETTERS, OPTIONS, argv, e)
                                 : take_option(q, option, e);

        if (code != 0)
            return code;
    }
    if (q->report.top == 0)
        q->report.top = q->json ? 1000000 : ROWS;
    if (!q->strings_said && !q->strings_off)
        q->report.texts = TEXTS;
    q->report.waste = q->json ? q->report.top : WASTE;
    q->report.text_size = q->json ? 0 : TEXT_SIZE;
    return take_names(q, argc - optind, argv + optind, e);
}
