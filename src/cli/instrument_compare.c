/*
 * instrument_compare: see instrument_compare.h.
 *
 * Events are told apart by their type, assembly and method: ids differ between processes and times
 * never count. Bodies are compared by instructions with tokens as names where the dump has them
 * (.txt beside .bin), else with the kind of token only; places and addresses may differ. Bytes of
 * two processes have other tokens, so they are held against the text beside them, not against each
 * other.
 */
#include "cli/instrument_compare.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/comparison.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/table.h"
#include "base/text.h"
#include "cil/listing.h"
#include "cli/cli.h"
#include "report/json.h"

enum { DEFAULT_TOP = 20, MOST_PLACES = 5 };

typedef struct {
    const char *paths[2];
    bool as_json;
    size_t top; /* differences shown */
} request;

typedef struct {
    comparison_sequence sides[2];
    comparison result;
} pair;

/* ---- event logs ---- */

static const char *text_of(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));

    return text != NULL ? text : "";
}

static int add_event(comparison_sequence *s, const json_t *event, error *e)
{
    buffer key = BUFFER_EMPTY;
    char *detail = json_dumps(json_object_get(event, "parameters"), JSON_SORT_KEYS | JSON_COMPACT);
    bool done;

    buffer_format(&key, "%s [%s]%s", text_of(event, "event_type"), text_of(event, "assembly_name"),
                  text_of(event, "method_name"));
    done = comparison_add(s, buffer_text(&key), detail);
    buffer_free(&key);
    free(detail);
    return done ? 0 : error_set(e, ERROR_MEMORY, "no memory for the events");
}

/* A JSON array of events, or an event a line; a last line that a crash cut off is left out. */
static int read_events(const char *path, comparison_sequence *s, error *e)
{
    buffer bytes = BUFFER_EMPTY;
    json_t *array;
    int code = os_read_file(path, 0, &bytes, e);
    size_t line = 0;
    size_t mark; /* bytes of a byte order mark */

    if (code != 0)
        return code;
    mark = text_starts_with(buffer_text(&bytes), "\xEF\xBB\xBF") ? 3 : 0;
    array = json_loadb(buffer_text(&bytes) + mark, bytes.length - mark, 0, NULL);
    if (json_is_array(array)) {
        size_t index;
        json_t *event;

        json_array_foreach(array, index, event)
        {
            if (code == 0)
                code = add_event(s, event, e);
        }
    } else {
        const char *at = buffer_text(&bytes) + mark;

        while (code == 0 && *at != '\0') {
            size_t length = strcspn(at, "\n");
            json_t *event = json_loadb(at, length, 0, NULL);

            line++;
            if (json_is_object(event))
                code = add_event(s, event, e);
            else if (length != 0 && at[length] != '\0')
                code = error_set(e, ERROR_CORRUPT, "%s: line %zu is not an event", path, line);
            json_decref(event);
            at += length + (at[length] == '\n');
        }
    }
    json_decref(array);
    buffer_free(&bytes);
    if (code == 0 && s->count == 0) {
        error_set(e, ERROR_NOT_FOUND, "%s has no events", path);
        code = error_advise(e, "CLARINET_EVENT_LOG=FILE makes the agent write them");
    }
    return code;
}

/* ---- folders of bodies ---- */

/* `Name.WHO-instrumented.bin` without WHO: two profilers' files get the same name. False for other
 * files. */
static bool body_name(const char *file, buffer *name)
{
    static const char INSTRUMENTED[] = "-instrumented.bin";
    const char *dot;

    buffer_clear(name);
    if (text_ends_with(file, ".original.bin")) {
        buffer_append_text(name, file);
        return true;
    }
    if (!text_ends_with(file, INSTRUMENTED))
        return false;
    dot = file + strlen(file) - strlen(INSTRUMENTED);
    while (dot > file && *dot != '.')
        dot--;
    buffer_append(name, file, (size_t)(dot - file));
    buffer_append_text(name, ".instrumented.bin");
    return true;
}

/* Instruction lines of a listing as items: without their own offset; places of branches and long
 * constants (ids and addresses) are details. */
static bool add_line(comparison_sequence *s, const char *line, size_t length)
{
    buffer key = BUFFER_EMPTY;
    char *detail = memory_copy_text_n(line, length);
    const char *constant;
    bool done;

    for (size_t i = 0; i < length; i++) {
        if (length - i >= 7 && memcmp(line + i, "IL_", 3) == 0) {
            size_t digits = strspn(line + i + 3, "0123456789ABCDEF");

            i += 2 + digits;
            buffer_append_text(&key, "IL_*");
        } else if (key.length != 0 || line[i] != ' ') {
            buffer_append_char(&key, line[i]);
        }
    }
    constant = buffer_failed(&key) ? NULL : strstr(buffer_text(&key), "ldc.i8");
    if (constant != NULL && key.data != NULL)
        key.data[constant - buffer_text(&key) + (ptrdiff_t)strlen("ldc.i8")] = '\0';
    done = !buffer_failed(&key) && detail != NULL && comparison_add(s, buffer_text(&key), detail);
    memory_free(detail);
    buffer_free(&key);
    return done;
}

static int add_listing(comparison_sequence *s, const char *text, error *e)
{
    while (*text != '\0' && *text != '\n') {
        size_t length = strcspn(text, "\n");

        if (!add_line(s, text, length))
            return error_set(e, ERROR_MEMORY, "no memory for a listing");
        text += length + (text[length] == '\n');
    }
    return 0;
}

static void append_token_kind(void *context, uint32_t token, buffer *out)
{
    (void)context;
    buffer_format(out, "token of table 0x%02x", token >> 24);
}

/* Are the rows of bytes at the end of a text (offset, then up to 16 bytes) these bytes? */
static bool has_rows_of(const char *rows, const buffer *bytes)
{
    size_t at = 0;

    while (*rows != '\0') {
        size_t offset = strcspn(rows, " \n"); /* of the row */

        for (rows += offset; *rows == ' '; at++) {
            char *end;
            unsigned long value = strtoul(rows, &end, 16);

            if (at >= bytes->length || value != bytes->data[at])
                return false;
            rows = end;
        }
        if (*rows != '\n')
            return false;
        rows++;
    }
    return at == bytes->length;
}

/* The instructions as the text has them, with names. What is not the text's own body is an
 * instruction of its own, so that both sides have it or they part. */
static int add_text(comparison_sequence *s, const char *text, const buffer *bytes, error *e)
{
    const char *begin = strstr(text, "\n\n");
    const char *rows = NULL; /* behind the last empty line: a text constant may have one too */
    int code = begin == NULL ? 0 : add_listing(s, begin + 2, e);

    for (const char *at = begin; at != NULL; at = strstr(at + 2, "\n\n"))
        rows = at == begin ? NULL : at + 2;
    if (code == 0 && rows != NULL && !has_rows_of(rows, bytes) &&
        !comparison_add(s, "other bytes than its text says", NULL))
        code = error_set(e, ERROR_MEMORY, "no memory for a listing");
    return code;
}

static int add_bytes(comparison_sequence *s, const buffer *bytes, error *e)
{
    cil_listing listing = {NULL, append_token_kind, NULL, 0, false};
    buffer text = BUFFER_EMPTY;
    cil_body body;
    int code;

    cil_body_init(&body);
    code = cil_decode(&body, bytes->data, bytes->length, e);
    if (code == 0) {
        cil_list(&body, &listing, &text);
        code = add_listing(s, buffer_text(&text), e);
    }
    cil_body_free(&body);
    buffer_free(&text);
    return code;
}

/* The instructions of one body: from the text beside it, or from its bytes. */
static int read_body(const char *folder, const char *file, bool by_names, comparison_sequence *s,
                     error *e)
{
    buffer beside = BUFFER_EMPTY;
    buffer path = BUFFER_EMPTY;
    buffer bytes = BUFFER_EMPTY;
    buffer text = BUFFER_EMPTY;
    int code;

    buffer_format(&beside, "%s/%.*s.txt", folder, (int)(strlen(file) - strlen(".bin")), file);
    buffer_format(&path, "%s/%s", folder, file);
    code = os_read_file(buffer_text(&path), 0, &bytes, e);
    if (code == 0) {
        code = by_names && os_read_file(buffer_text(&beside), 0, &text, NULL) == 0
                   ? add_text(s, buffer_text(&text), &bytes, e)
                   : add_bytes(s, &bytes, e);
        if (code != 0)
            error_prefix(e, "%s", buffer_text(&path));
    }
    buffer_free(&beside);
    buffer_free(&path);
    buffer_free(&bytes);
    buffer_free(&text);
    return code;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Every body of the folder in the order of their names: first its name, then its instructions. */
static int read_folder(const char *path, bool by_names, comparison_sequence *s, error *e)
{
    struct dirent **entries = NULL;
    buffer name = BUFFER_EMPTY;
    buffer key = BUFFER_EMPTY;
    int count = scandir(path, &entries, NULL, compare_names);
    int code = 0;

    if (count < 0)
        return error_set(e, ERROR_NOT_FOUND, "%s can't be read", path);
    for (int i = 0; i < count; i++) {
        if (code == 0 && body_name(entries[i]->d_name, &name)) {
            buffer_clear(&key);
            buffer_format(&key, "body %s", buffer_text(&name));
            if (!comparison_add(s, buffer_text(&key), NULL))
                code = error_set(e, ERROR_MEMORY, "no memory for the bodies");
            else
                code = read_body(path, entries[i]->d_name, by_names, s, e);
        }
        free(entries[i]);
    }
    free(entries);
    buffer_free(&name);
    buffer_free(&key);
    if (code == 0 && s->count == 0) {
        error_set(e, ERROR_NOT_FOUND, "%s has no bodies", path);
        code = error_advise(e, "NEW_RELIC_PROFILER_DUMP_IL=1 makes the agent write them");
    }
    return code;
}

/* ---- what is printed ---- */

static const comparison_item *item_of(const pair *p, const comparison_difference *d)
{
    return d->kind == COMPARISON_EXTRA ? &p->sides[1].items[d->second]
                                       : &p->sides[0].items[d->first];
}

static const char *detail_at(const pair *p, int side, size_t at)
{
    const char *detail = p->sides[side].items[at].detail;

    return detail != NULL ? detail + strspn(detail, " ") : "";
}

/* What it is, without the place that stands before an instruction. */
static const char *text_of_item(const comparison_item *item)
{
    return text_starts_with(item->key, "IL_*: ") ? item->key + strlen("IL_*: ") : item->key;
}

/* The name of the body that an item belongs to; NULL in event logs. */
static const char *body_of(const comparison_sequence *s, size_t at)
{
    for (size_t i = at < s->count ? at + 1 : s->count; i-- > 0;) {
        if (text_starts_with(s->items[i].key, "body "))
            return s->items[i].key + strlen("body ");
    }
    return NULL;
}

static const char *body_of_difference(const pair *p, const comparison_difference *d)
{
    int side = d->kind == COMPARISON_EXTRA;

    return body_of(&p->sides[side], side == 0 ? d->first : d->second);
}

static void print_difference(const pair *p, const comparison_difference *d)
{
    const char *body = body_of_difference(p, d);

    printf("  %zu / %zu  %s%s  %s", d->first + 1, d->second + 1, comparison_kind_name(d->kind),
           comparison_is_critical(d->kind) ? " (critical)" : "", text_of_item(item_of(p, d)));
    if (d->kind == COMPARISON_DETAIL)
        printf("  %s | %s", detail_at(p, 0, d->first), detail_at(p, 1, d->second));
    if (body != NULL)
        printf("  in %s", body);
    printf("\n");
}

/* The body, or the assembly of an event: what a summary counts by. */
static void append_place(const pair *p, const comparison_difference *d, buffer *out)
{
    const char *body = body_of_difference(p, d);
    const char *begin = strchr(item_of(p, d)->key, '[');
    const char *end = begin == NULL ? NULL : strchr(begin, ']');

    if (body != NULL)
        buffer_append_text(out, body);
    else if (end != NULL)
        buffer_append(out, begin + 1, (size_t)(end - begin) - 1);
    if (out->length == 0)
        buffer_append_text(out, "nowhere");
}

/* Where they part, in a few lines: the places with the most critical differences. */
static void print_places(const pair *p)
{
    const comparison *c = &p->result;
    table_text counts;

    table_text_init(&counts);
    for (size_t i = 0; i < c->count; i++) {
        buffer place = BUFFER_EMPTY;
        uint64_t *count;

        if (!comparison_is_critical(c->differences[i].kind))
            continue;
        append_place(p, &c->differences[i], &place);
        count = table_text_at(&counts, buffer_text(&place), place.length, 0);
        if (count != NULL)
            ++*count;
        buffer_free(&place);
    }
    for (int shown = 0; shown < MOST_PLACES; shown++) {
        table_text_slot *most = NULL;

        for (size_t i = 0; i < counts.capacity; i++) {
            table_text_slot *slot = &counts.slots[i];

            if (slot->key != NULL && slot->value != 0 &&
                (most == NULL || slot->value > most->value ||
                 (slot->value == most->value && strcmp(slot->key, most->key) < 0)))
                most = slot;
        }
        if (most == NULL)
            break;
        printf("  %llu critical in %s\n", (unsigned long long)most->value, most->key);
        most->value = 0;
    }
    table_text_free(&counts);
}

static void print_text(const request *r, const pair *p)
{
    const comparison *c = &p->result;
    size_t shown = 0;

    for (int i = 0; i < 2; i++)
        printf("%s: %zu %s\n", r->paths[i], p->sides[i].count,
               body_of(&p->sides[i], 0) != NULL ? "names and instructions" : "events");
    for (size_t i = 0; i < c->count; i++) {
        if (comparison_is_critical(c->differences[i].kind)) {
            printf("they part at %zu / %zu\n", c->differences[i].first + 1,
                   c->differences[i].second + 1);
            break;
        }
    }
    print_places(p);
    /* What is critical first: the list may be cut. */
    for (int critical = 1; critical >= 0; critical--) {
        for (size_t i = 0; i < c->count && shown < r->top; i++) {
            if (comparison_is_critical(c->differences[i].kind) == (critical != 0)) {
                print_difference(p, &c->differences[i]);
                shown++;
            }
        }
    }
    if (shown < c->count)
        printf("  … and %zu more\n", c->count - shown);
    printf("%zu differences: %zu critical, %zu acceptable\nscore %.4f\n", c->count, c->critical,
           c->acceptable, comparison_score(c->critical, p->sides[0].count));
}

static void print_json(const request *r, const pair *p)
{
    const comparison *c = &p->result;
    sink out;
    json j;

    sink_init(&out, STDOUT_FILENO);
    json_init(&j, &out);
    json_begin_object(&j);
    json_put_u64(&j, "first", p->sides[0].count);
    json_put_u64(&j, "second", p->sides[1].count);
    json_put_u64(&j, "total", c->count);
    json_put_u64(&j, "critical", c->critical);
    json_put_u64(&j, "acceptable", c->acceptable);
    json_put_f64(&j, "score", comparison_score(c->critical, p->sides[0].count));
    json_begin_array_at(&j, "differences");
    for (size_t i = 0; i < c->count && i < r->top; i++) {
        const comparison_difference *d = &c->differences[i];

        json_begin_object(&j);
        json_put_u64(&j, "first_index", d->first);
        json_put_u64(&j, "second_index", d->second);
        json_put_text(&j, "kind", comparison_kind_name(d->kind));
        json_put_bool(&j, "critical", comparison_is_critical(d->kind));
        json_put_text(&j, "text", text_of_item(item_of(p, d)));
        if (body_of_difference(p, d) != NULL)
            json_put_text(&j, "body", body_of_difference(p, d));
        if (d->kind != COMPARISON_EXTRA)
            json_put_text(&j, "first_value", detail_at(p, 0, d->first));
        if (d->kind != COMPARISON_MISSING)
            json_put_text(&j, "second_value", detail_at(p, 1, d->second));
        json_end_object(&j);
    }
    json_end_array(&j);
    json_end_object(&j);
    sink_text(&out, "\n");
    json_free(&j);
    sink_finish(&out, NULL);
    sink_free(&out);
}

/* ---- the verb ---- */

static int parse(int argc, char **argv, request *r, error *e)
{
    size_t paths = 0;
    uint64_t top;

    r->top = DEFAULT_TOP;
    for (int i = 1; i < argc; i++) {
        if (text_equal(argv[i], "--json")) {
            r->as_json = true;
        } else if (text_equal(argv[i], "--top") && i + 1 < argc) {
            if (!text_to_u64(argv[++i], &top))
                return error_set(e, ERROR_USAGE, "--top wants a number, not '%s'", argv[i]);
            r->top = (size_t)top;
        } else if (argv[i][0] != '-' && paths < 2) {
            r->paths[paths++] = argv[i];
        } else {
            return error_set(e, ERROR_USAGE, "compare does not know '%s'", argv[i]);
        }
    }
    if (paths == 2)
        return 0;
    error_set(e, ERROR_USAGE, "compare needs two event logs or two folders of bodies");
    return error_advise(e, "clarinet instrument compare A B");
}

/* Names stand in the texts beside the bodies; they help only when both sides have them. */
static bool has_texts(const char *folder)
{
    DIR *listing = opendir(folder);
    struct dirent *entry;
    bool found = false;

    while (listing != NULL && !found && (entry = readdir(listing)) != NULL)
        found = text_ends_with(entry->d_name, ".original.txt");
    if (listing != NULL)
        closedir(listing);
    return found;
}

static bool is_folder(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* A log of the same name with a number behind it was written by another process of the same run. */
static void tell_of_others(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    char *folder = slash == NULL ? memory_copy_text(".")
                                 : memory_copy_text_n(path, (size_t)(slash - path) + 1);
    DIR *listing = folder == NULL ? NULL : opendir(folder);
    struct dirent *entry;
    size_t length = strlen(base);
    size_t count = 0;

    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        const char *end = entry->d_name + length;

        if (strncmp(entry->d_name, base, length) == 0 && end[0] == '.' && end[1] != '\0' &&
            end[1 + strspn(end + 1, "0123456789")] == '\0')
            count++;
    }
    if (listing != NULL)
        closedir(listing);
    memory_free(folder);
    if (count != 0)
        fprintf(stderr,
                "clarinet: beside %s there %s %zu log%s of other processes (%s.PID), not looked "
                "at\n",
                path, count == 1 ? "is" : "are", count, count == 1 ? "" : "s", base);
}

int instrument_compare(int argc, char **argv)
{
    request r = {{NULL, NULL}, false, 0};
    pair p;
    error e;
    bool by_names;
    int code;

    memset(&p, 0, sizeof p);
    error_clear(&e);
    code = parse(argc, argv, &r, &e);
    if (code == 0 && is_folder(r.paths[0]) != is_folder(r.paths[1]))
        code = error_set(&e, ERROR_USAGE, "compare wants two files or two folders");
    by_names = code == 0 && has_texts(r.paths[0]) && has_texts(r.paths[1]);
    for (int i = 0; i < 2 && code == 0; i++)
        code = is_folder(r.paths[i]) ? read_folder(r.paths[i], by_names, &p.sides[i], &e)
                                     : read_events(r.paths[i], &p.sides[i], &e);
    if (code == 0)
        code = comparison_make(&p.result, &p.sides[0], &p.sides[1], is_folder(r.paths[0]), &e);
    if (code == 0) {
        for (int i = 0; i < 2 && !is_folder(r.paths[i]); i++)
            tell_of_others(r.paths[i]);
        if (r.as_json)
            print_json(&r, &p);
        else
            print_text(&r, &p);
        code = p.result.critical == 0 ? CLI_DONE : CLI_FAILED;
    } else {
        cli_fail(&e);
        code = CLI_USAGE; /* apart from 1, which says that they part */
    }
    comparison_free(&p.result);
    comparison_clear(&p.sides[0]);
    comparison_clear(&p.sides[1]);
    return code;
}
