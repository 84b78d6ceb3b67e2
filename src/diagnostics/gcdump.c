/*
 * gcdump: see gcdump.h. The file is one object graph of the library FastSerialization: texts are
 * u32 length and bytes, objects are byte 4, their type, their content, byte 6. What counts is the
 * first part, a MemoryGraph: types, for each node where its record lies, the records one after the
 * other, and the nodes' addresses. Nodes without an address are roots and groups of them.
 */
#include "diagnostics/gcdump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "diagnostics/file_head.h"
#include "diagnostics/heap_writer.h"
#include "diagnostics/import_private.h"
#include "diagnostics/type_text.h"

enum {
    TAG_NULL = 1,
    TAG_OBJECT = 4,
    TAG_END = 6,
    TAG_BYTE = 8,
    UNSUPPORTED_VERSION = 8,
    LEAST_TYPE = 12, /* bytes of a type in the file */
    TABLE_TYPES = 1,
    TICKS_PER_SECOND = 10000000,
};
static const char MAGIC[] = "\x14\0\0\0!FastSerialization.1";
static const size_t LARGEST_FILE = (size_t)16 << 30;
static const uint64_t TICKS_OF_1970 = UINT64_C(621355968000000000);

typedef struct {
    uint32_t kind, flags;
} root_kind;

typedef struct {
    const char *text; /* in the file */
    size_t length;
    uint32_t size;
    uint32_t number; /* of the snapshot's types; UINT32_MAX = no objects of it yet */
    const char *module;
    size_t module_length;
} graph_type;

typedef struct {
    uint32_t node;
    root_kind kind;
} open_group;

typedef struct {
    reader r; /* the file */
    graph_type *types;
    uint32_t type_count;
    const uint8_t *labels; /* where each node's record is in `records` */
    uint32_t node_count, root;
    reader records;
    uint64_t children_left; /* records do not overlap: there are no more than bytes */
    uint64_t *addresses;
    heap_writer writer;
    import_names names;
    uint64_t *targets; /* of the node in hand */
    size_t target_count, target_capacity;
    bool failed; /* no memory */
} gcdump;

typedef struct {
    uint32_t type;
    uint64_t size;
    uint32_t children;
    reader r; /* of the children */
} graph_node;

static int broken(error *e)
{
    error_set(e, ERROR_CORRUPT, "the .gcdump file is broken or breaks off");
    return error_advise(e, "take another one, or a snapshot with: clarinet heap PID -o FILE");
}

/* ---- pieces of the format ---- */

static const char *read_text(reader *r, size_t *length)
{
    uint32_t said = reader_u32(r);

    *length = said == UINT32_MAX ? 0 : said;
    return (const char *)reader_bytes(r, *length);
}

/* The head of an object: its type with version and name. */
static bool read_head(reader *r, const char *name, uint32_t *version, uint32_t *least)
{
    const char *text;
    size_t length;
    uint8_t outer = reader_u8(r);
    uint8_t inner = reader_u8(r);
    bool good = outer == TAG_OBJECT && inner == TAG_OBJECT && reader_u8(r) == TAG_NULL;

    *version = reader_u32(r);
    *least = reader_u32(r);
    text = read_text(r, &length);
    return good && reader_u8(r) == TAG_END && !reader_failed(r) && length == strlen(name) &&
           memcmp(text, name, length) == 0;
}

/* Seven bits a byte, the highest first; the first byte has the sign. */
static int32_t read_number(reader *r)
{
    uint8_t byte = reader_u8(r);
    uint32_t value = (byte & 0x40) != 0 ? byte | ~UINT32_C(0x7f) : byte & 0x7fu;

    for (int i = 0; i < 4 && (byte & 0x80) != 0; i++) {
        byte = reader_u8(r);
        value = value << 7 | (byte & 0x7f);
    }
    return (int32_t)value;
}

static bool read_node(gcdump *g, uint32_t index, graph_node *node)
{
    reader label = reader_of(g->labels + (size_t)index * 4, 4);
    uint32_t head;

    node->r = g->records;
    reader_seek(&node->r, reader_u32(&label));
    head = (uint32_t)read_number(&node->r);
    node->type = head >> 1;
    if (node->type >= g->type_count || reader_failed(&node->r))
        return false;
    node->size = (head & 1) != 0 ? (uint32_t)read_number(&node->r) : g->types[node->type].size;
    node->children = (uint32_t)read_number(&node->r);
    if (reader_failed(&node->r) || node->children > g->children_left)
        return false;
    g->children_left -= node->children;
    return true;
}

/* The next child of a node; false when it is none. */
static bool next_child(const gcdump *g, uint32_t index, graph_node *node, uint32_t *child)
{
    *child = index + (uint32_t)read_number(&node->r);
    return !reader_failed(&node->r) && *child < g->node_count;
}

/* ---- reading ---- */

static bool read_types(gcdump *g)
{
    g->type_count = reader_u32(&g->r);
    if (reader_failed(&g->r) || g->type_count > reader_left(&g->r) / LEAST_TYPE)
        return false;
    g->types = memory_allocate_array((size_t)g->type_count + 1, sizeof *g->types);
    g->failed = g->types == NULL;
    for (uint32_t i = 0; i < g->type_count && !g->failed; i++) {
        graph_type *t = &g->types[i];

        t->text = read_text(&g->r, &t->length);
        t->size = reader_u32(&g->r);
        t->module = read_text(&g->r, &t->module_length);
        t->number = UINT32_MAX;
    }
    return !g->failed && !reader_failed(&g->r);
}

static bool read_addresses(gcdump *g)
{
    uint32_t count = reader_u32(&g->r);

    if (reader_failed(&g->r) || count != g->node_count || count > reader_left(&g->r) / 8)
        return false;
    g->addresses = memory_allocate_array((size_t)count + 1, sizeof *g->addresses);
    g->failed = g->addresses == NULL;
    for (uint32_t i = 0; i < count && !g->failed; i++)
        g->addresses[i] = reader_u64(&g->r);
    return !g->failed && !reader_failed(&g->r);
}

static int read_graph(gcdump *g, error *e)
{
    uint32_t version, least, length;

    reader_skip(&g->r, sizeof MAGIC - 1);
    if (!read_head(&g->r, "GCHeapDump", &version, &least))
        return broken(e);
    if (version == UNSUPPORTED_VERSION)
        return error_set(e, ERROR_UNSUPPORTED, "version %u of .gcdump files cannot be read",
                         version);
    if (!read_head(&g->r, "Graphs.MemoryGraph", &version, &least))
        return broken(e);
    if (least != 0)
        return error_set(e, ERROR_UNSUPPORTED, "the .gcdump file is of a native program");
    reader_u64(&g->r); /* bytes of all objects */
    g->root = reader_u32(&g->r);
    if (!read_types(g))
        return broken(e);
    g->node_count = reader_u32(&g->r);
    g->labels = reader_bytes(&g->r, (size_t)g->node_count * 4);
    length = reader_u32(&g->r);
    g->records = reader_of(reader_bytes(&g->r, length), length);
    g->children_left = length;
    if (reader_failed(&g->r) || !read_addresses(g))
        return broken(e);
    return 0;
}

/* ---- objects ---- */

static const char *base_of(const char *path, size_t *length)
{
    for (size_t i = *length; i > 0; i--) {
        if (path[i - 1] == '/' || path[i - 1] == '\\') {
            *length -= i;
            return path + i;
        }
    }
    return path;
}

/* "Module(0x7f…)" stands for one that the writer of the file did not know. */
static uint32_t assembly_of(gcdump *g, const graph_type *t)
{
    size_t length = t->module_length;
    const char *name = base_of(t->module, &length);

    if (length > 7 && memcmp(name, "Module(", 7) == 0)
        return 0;
    if (length > 4 &&
        (memcmp(name + length - 4, ".dll", 4) == 0 || memcmp(name + length - 4, ".exe", 4) == 0))
        length -= 4;
    buffer_clear(&g->names.text);
    text_append_cleaned(&g->names.text, name, length);
    return import_string(&g->names, buffer_text(&g->names.text), g->names.text.length);
}

/* dotnet-gcdump makes types of their own of large objects: "System.String (Bytes > 10K)". */
static size_t plain_length(const graph_type *t)
{
    static const char MARK[] = " (Bytes > ";

    for (size_t i = 0; i + sizeof MARK <= t->length; i++)
        if (memcmp(t->text + i, MARK, sizeof MARK - 1) == 0)
            return i;
    return t->length;
}

static uint32_t number_of(gcdump *g, uint32_t index)
{
    graph_type *t = &g->types[index];
    buffer *spelled = &g->names.spelled;
    uint32_t flags, name;

    if (t->number != UINT32_MAX)
        return t->number;
    buffer_clear(&g->names.text);
    buffer_clear(spelled);
    text_append_cleaned(&g->names.text, t->text, plain_length(t));
    type_text_append(spelled, buffer_text(&g->names.text));
    flags = type_text_is_array(buffer_text(spelled)) ? RECORDING_TYPE_ARRAY : 0;
    flags |= text_equal(buffer_text(spelled), "string") ? RECORDING_TYPE_STRING : 0;
    name = import_string(&g->names, buffer_text(spelled), spelled->length);
    t->number = heap_writer_add_type(&g->writer, name, assembly_of(g, t), flags);
    return t->number;
}

static bool add_target(gcdump *g, uint64_t address)
{
    if (g->target_count == g->target_capacity) {
        size_t capacity = g->target_capacity * 2 + 1024;
        uint64_t *grown = memory_resize(g->targets, capacity * sizeof *grown);

        if (grown == NULL)
            return false;
        g->targets = grown;
        g->target_capacity = capacity;
    }
    g->targets[g->target_count++] = address;
    return true;
}

/* Nodes that were only ever pointed to have the first type, UNDEFINED. */
static int put_object(gcdump *g, uint32_t index, error *e)
{
    graph_node node;
    uint32_t child, number;

    if (!read_node(g, index, &node))
        return broken(e);
    if (node.type == 0)
        return 0;
    g->target_count = 0;
    for (uint32_t i = 0; i < node.children; i++) {
        if (!next_child(g, index, &node, &child))
            return broken(e);
        if (g->addresses[child] != 0 && !add_target(g, g->addresses[child]))
            return error_set(e, ERROR_MEMORY, "no memory for the objects of the file");
    }
    number = number_of(g, node.type);
    if (!g->writer.failed)
        heap_writer_put_object(&g->writer, &(heap_writer_object){.address = g->addresses[index],
                                                                 .size = node.size,
                                                                 .type = number,
                                                                 .targets = g->targets,
                                                                 .count = g->target_count});
    return 0;
}

static int compare_addresses(const void *a, const void *b, void *context)
{
    const uint64_t *addresses = context;
    uint64_t x = addresses[*(const uint32_t *)a], y = addresses[*(const uint32_t *)b];

    return x < y ? -1 : x > y;
}

static int put_objects(gcdump *g, error *e)
{
    uint32_t *order = memory_allocate_array((size_t)g->node_count + 1, sizeof *order);
    uint32_t count = 0;
    int code = 0;

    if (order == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the objects of the file");
    for (uint32_t i = 0; i < g->node_count && code == 0; i++) {
        if (g->addresses[i] % 8 != 0)
            code = error_set(e, ERROR_UNSUPPORTED,
                             "the .gcdump file is of a 32-bit process, which is not read");
        if (g->addresses[i] != 0)
            order[count++] = i;
    }
    qsort_r(order, count, sizeof *order, compare_addresses, g->addresses);
    for (uint32_t i = 0; i < count && code == 0 && !g->writer.failed; i++)
        if (i == 0 || g->addresses[order[i]] != g->addresses[order[i - 1]])
            code = put_object(g, order[i], e);
    memory_free(order);
    return code;
}

/* ---- roots ---- */

static bool is_text(const graph_type *t, const char *text)
{
    return t->length == strlen(text) && memcmp(t->text, text, t->length) == 0;
}

/* What a group says of the roots in it; groups in it may say more. */
static root_kind kind_of(const graph_type *t, root_kind outer)
{
    static const struct {
        const char *name;
        root_kind kind;
    } KINDS[] = {
        {"[local vars]", {RECORDING_ROOT_STACK, 0}},
        {"[static vars]", {RECORDING_ROOT_STATIC, 0}},
        {"[thread static vars]", {RECORDING_ROOT_STATIC, RECORDING_ROOT_THREAD}},
        {"[finalizer Handles]", {RECORDING_ROOT_FINALIZER, 0}},
        {"[strong Handles]", {RECORDING_ROOT_HANDLE, 0}},
        {"[pinning Handles]", {RECORDING_ROOT_HANDLE, RECORDING_ROOT_PINNED}},
        {"[COM/WinRT Objects]", {RECORDING_ROOT_HANDLE, RECORDING_ROOT_COUNTED}},
    };

    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (is_text(t, KINDS[i].name))
            return KINDS[i].kind;
    return outer;
}

/* "[static var Type.name]": the type is that of the object in it, so only the name is told. */
static const char *static_name(const graph_type *t, size_t *length)
{
    static const char PREFIX[] = "[static var ";
    static const char PROPERTY[] = ">k__BackingField"; /* called like its property */
    size_t end = t->length, begin;

    if (t->length <= sizeof PREFIX || memcmp(t->text, PREFIX, sizeof PREFIX - 1) != 0) {
        *length = t->length;
        return t->text;
    }
    end -= t->text[end - 1] == ']';
    for (begin = end; begin > sizeof PREFIX - 1 && t->text[begin - 1] != '.'; begin--)
        ;
    if (t->text[begin] == '<' && end - begin > sizeof PROPERTY &&
        memcmp(t->text + end - (sizeof PROPERTY - 1), PROPERTY, sizeof PROPERTY - 1) == 0) {
        begin++;
        end -= sizeof PROPERTY - 1;
    }
    *length = end - begin;
    return t->text + begin;
}

static void put_root(gcdump *g, uint32_t group, const graph_type *t, root_kind kind,
                     uint64_t object)
{
    size_t length;
    const char *name = static_name(t, &length);

    buffer_clear(&g->names.text);
    text_append_cleaned(&g->names.text, name, length);
    /* the group's number stands for what is not known: function, handle, slot */
    heap_writer_put_root(&g->writer, kind.kind, kind.flags, object, (uint64_t)group + 1,
                         buffer_text(&g->names.text), g->names.text.length);
}

static bool put_group(gcdump *g, open_group at, uint8_t *seen, open_group *open, size_t *count)
{
    graph_node node;
    const graph_type *t;
    uint32_t child;

    if (!read_node(g, at.node, &node))
        return false;
    t = &g->types[node.type];
    at.kind = kind_of(t, at.kind);
    for (uint32_t i = 0; i < node.children; i++) {
        if (!next_child(g, at.node, &node, &child))
            return false;
        if (g->addresses[child] != 0) {
            put_root(g, at.node, t, at.kind, g->addresses[child]);
        } else if (!seen[child]) {
            seen[child] = 1;
            open[(*count)++] = (open_group){child, at.kind};
        }
    }
    return true;
}

static int put_roots(gcdump *g, error *e)
{
    uint8_t *seen = memory_allocate_array((size_t)g->node_count + 1, 1);
    open_group *open = NULL;
    size_t groups = 1, count = 0;
    int code = 0;

    for (uint32_t i = 0; i < g->node_count; i++)
        groups += g->addresses[i] == 0;
    open = memory_allocate_array(groups, sizeof *open);
    if (seen == NULL || open == NULL)
        code = error_set(e, ERROR_MEMORY, "no memory for the roots of the file");
    else if (g->root >= g->node_count || g->addresses[g->root] != 0)
        code = broken(e);
    if (code == 0) {
        seen[g->root] = 1;
        open[count++] = (open_group){g->root, {RECORDING_ROOT_OTHER, 0}};
    }
    while (code == 0 && count > 0) {
        open_group at = open[--count];

        if (!put_group(g, at, seen, open, &count))
            code = broken(e);
    }
    memory_free(seen);
    memory_free(open);
    return code;
}

/* ---- facts ---- */

typedef struct {
    uint64_t time_unix_ns;
    uint32_t pid;
    double objects_each; /* that one of the file stands for */
    char name[256];
} facts;

static double read_f32(reader *r)
{
    uint32_t bits = reader_u32(r);
    float value;

    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* What stands behind the graph; files differ there, and nothing of it is needed. */
static void read_facts(reader r, facts *f)
{
    const char *text;
    uint64_t ticks;
    uint32_t pid;
    size_t length;
    double each;
    uint8_t first, second;

    if (reader_u8(&r) == TAG_BYTE) {
        reader_u8(&r); /* 64 bits */
        reader_u8(&r); /* end of the graph */
    }
    reader_u8(&r); /* 64 bits, again */
    each = read_f32(&r);
    read_f32(&r);
    if (reader_failed(&r) || !(each >= 1) || !(each < 1e9))
        return;
    f->objects_each = each;
    first = reader_u8(&r);
    second = reader_u8(&r);
    if (first != TAG_NULL || second != TAG_NULL)
        return;
    read_text(&r, &length); /* a log */
    ticks = reader_u64(&r);
    read_text(&r, &length); /* machine */
    text = read_text(&r, &length);
    pid = reader_u32(&r);
    if (reader_failed(&r))
        return;
    f->pid = pid;
    if (length != 0)
        snprintf(f->name, sizeof f->name, "%.*s", (int)(length < 255 ? length : 255), text);
    if (ticks > TICKS_OF_1970 && ticks - TICKS_OF_1970 < UINT64_C(10000000000) * TICKS_PER_SECOND)
        f->time_unix_ns = (ticks - TICKS_OF_1970) * 100;
}

static void put_facts(const facts *f, buffer *out)
{
    char number[32];
    size_t chunk = recording_begin_chunk(out, RECORDING_INFO, RECORDING_PROCESS_NONE);

    snprintf(number, sizeof number, "%llu", (unsigned long long)f->time_unix_ns);
    recording_put_info(out, "created_unix_ns", number);
    recording_end_chunk(out, chunk);
    chunk = recording_begin_chunk(out, RECORDING_INFO, 0);
    recording_put_info(out, "origin_unix_ns", number);
    recording_put_info(out, "name", f->name);
    snprintf(number, sizeof number, "%u", f->pid);
    if (f->pid != 0)
        recording_put_info(out, "pid", number);
    recording_end_chunk(out, chunk);
}

static void put_end(buffer *out)
{
    size_t chunk = recording_begin_chunk(out, RECORDING_PROFILER, 0);

    recording_put_profiler(out, "heap", RECORDING_STARTED, 0, "", NULL, 0);
    recording_put_profiler(out, "heap", RECORDING_STOPPED, 0, "", NULL, 0);
    recording_end_chunk(out, chunk);
    chunk = recording_begin_chunk(out, RECORDING_END, 0);
    recording_put_end(out, "stopped", 0);
    recording_end_chunk(out, chunk);
}

/* ---- all of it ---- */

static void gcdump_free(gcdump *g)
{
    heap_writer_free(&g->writer);
    import_free_names(&g->names);
    memory_free(g->types);
    memory_free(g->addresses);
    memory_free(g->targets);
}

int gcdump_import(const void *bytes, size_t length, const char *name, uint64_t time_unix_ns,
                  buffer *out, char *note, size_t note_size, error *e)
{
    facts f = {.time_unix_ns = time_unix_ns, .objects_each = 1};
    gcdump g = {.r = reader_of(bytes, length)};
    int code;

    note[0] = '\0';
    snprintf(f.name, sizeof f.name, "%s", name);
    heap_writer_init(&g.writer);
    code = read_graph(&g, e);
    if (code == 0)
        code = put_objects(&g, e);
    if (code == 0)
        code = put_roots(&g, e);
    if (code == 0) {
        read_facts(g.r, &f);
        if (f.objects_each > 1.0001)
            snprintf(note, note_size,
                     "the file holds a sample: one object stands for %.1f of the program's",
                     f.objects_each);
        recording_put_file_header(out);
        put_facts(&f, out);
        import_write_names(&g.names, out);
        heap_writer_finish(&g.writer, TABLE_TYPES, 0, "", out);
        put_end(out);
    }
    if (g.failed || g.writer.failed || g.names.failed || buffer_failed(out))
        code = error_set(e, ERROR_MEMORY, "no memory for the objects of the file");
    gcdump_free(&g);
    return code;
}

bool gcdump_is_file(const char *path)
{
    return file_head_is(path, MAGIC, sizeof MAGIC - 1);
}

int gcdump_import_file(const char *path, buffer *out, char *note, size_t note_size, error *e)
{
    size_t length = strlen(path);
    const char *base = base_of(path, &length);
    buffer bytes = BUFFER_EMPTY;
    struct stat status;
    char name[256];
    int code = os_read_file(path, LARGEST_FILE, &bytes, e);

    if (code == 0 && stat(path, &status) != 0)
        code = error_set_errno(e, ERROR_IO, errno, "cannot read %s", path);
    snprintf(name, sizeof name, "%s", base);
    if (text_ends_with(name, ".gcdump"))
        name[strlen(name) - strlen(".gcdump")] = '\0';
    if (code == 0)
        code = gcdump_import(bytes.data, bytes.length, name,
                             (uint64_t)status.st_mtim.tv_sec * 1000000000 +
                                 (uint64_t)status.st_mtim.tv_nsec,
                             out, note, note_size, e);
    buffer_free(&bytes);
    return code;
}
