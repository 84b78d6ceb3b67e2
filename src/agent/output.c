/* output: see output.h. */
#include "agent/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/sampling.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"

enum {
    KEPT_ROOM = 256 << 10,
    GATHER_AT = 512 << 10,
    LAST_ROOM = 1 << 20, /* asked for when a full socket must take one byte more */
    CLOSE_ON_EXEC = 1,   /* MFD_CLOEXEC; its function is younger than some C libraries */
};

static void need_stack(output *o, uint32_t id);
static void need_thread(output *o, uint64_t os_id);

void output_init(output *o, agent *a, names *n, uint64_t origin_ns)
{
    memset(o, 0, sizeof *o);
    o->agent = a;
    o->names = n;
    o->origin_ns = origin_ns;
    table_u64_init(&o->threads_sent);
}

static void forget_sent(output *o)
{
    for (size_t i = 0; i < OUTPUT_THREADS; i++)
        if (o->sent[i].bits != NULL)
            memset(o->sent[i].bits, 0, o->sent[i].size);
    table_u64_free(&o->threads_sent);
}

void output_free(output *o)
{
    for (size_t i = 0; i < OUTPUT_THREADS; i++)
        memory_free(o->sent[i].bits);
    for (size_t i = 0; i < OUTPUT_KINDS; i++)
        buffer_free(&o->definitions[i]);
    for (size_t i = 0; i < ENGINE_COUNT * ENGINE_MAX_TABLES; i++) {
        if (o->tables[i] != NULL)
            buffer_free(&o->tables[i]->bytes);
        memory_free(o->tables[i]);
    }
    table_u64_free(&o->threads_sent);
    buffer_free(&o->pending);
    memset(o, 0, sizeof *o);
}

/* True when the id was not sent before; it counts as sent from now on. */
static bool first_time(output *o, unsigned what, uint32_t id)
{
    output_sent *sent = &o->sent[what];

    if (id / 8 >= sent->size) {
        size_t size = sent->size == 0 ? 512 : sent->size;
        uint8_t *bits;

        while (id / 8 >= size)
            size *= 2;
        bits = memory_resize(sent->bits, size);
        if (bits == NULL) {
            o->broken = true;
            return false;
        }
        memset(bits + sent->size, 0, size - sent->size);
        sent->bits = bits;
        sent->size = size;
    }
    if ((sent->bits[id / 8] & 1u << id % 8) != 0)
        return false;
    sent->bits[id / 8] |= (uint8_t)(1u << id % 8);
    return true;
}

static void need_string(output *o, uint32_t id)
{
    const names_string *s = names_get_string(o->names, id);

    if (s != NULL && first_time(o, OUTPUT_STRINGS, id))
        recording_put_string(&o->definitions[OUTPUT_STRINGS], id, s->text, s->length);
}

static void need_module(output *o, uint32_t id)
{
    const names_module *m = names_get_module(o->names, id);
    recording_module record;

    if (m == NULL || !first_time(o, OUTPUT_MODULES, id))
        return;
    need_string(o, m->name);
    need_string(o, m->path);
    record = (recording_module){id,      m->kind, m->name, m->path, m->identity, m->identity_length,
                                m->base, m->size};
    recording_put_module(&o->definitions[OUTPUT_MODULES], &record);
}

static void need_method(output *o, uint32_t id)
{
    const names_method *m = names_get_method(o->names, id);
    recording_method record;

    if (m == NULL || !first_time(o, OUTPUT_METHODS, id))
        return;
    need_module(o, m->module);
    need_string(o, m->name);
    need_string(o, m->parameters);
    record = (recording_method){id, m->module, m->token, m->name, m->parameters, m->flags};
    recording_put_method(&o->definitions[OUTPUT_METHODS], &record);
}

static void need_frame(output *o, uint32_t id)
{
    const names_frame *f = names_get_frame(o->names, id);

    if (f == NULL || !first_time(o, OUTPUT_FRAMES, id))
        return;
    if (f->kind == RECORDING_FRAME_MANAGED || f->kind == RECORDING_FRAME_AWAIT)
        need_method(o, f->a);
    else if (f->kind == RECORDING_FRAME_NATIVE)
        need_module(o, f->a);
    else
        need_string(o, f->a);
    recording_put_frame(&o->definitions[OUTPUT_FRAMES], id, f->kind, f->a, f->b);
}

/* Parents first. Depth is bounded by what engines record, but stacks are chains: no recursion. */
static void need_stack(output *o, uint32_t id)
{
    enum { BATCH = 256 };
    uint32_t chain[BATCH];
    const names_stack *s;

    for (;;) {
        size_t count = 0;
        uint32_t at = id;

        /* the outermost missing ones of this chain, at most BATCH at a time */
        while ((s = names_get_stack(o->names, at)) != NULL) {
            if (at / 8 < o->sent[OUTPUT_STACKS].size &&
                (o->sent[OUTPUT_STACKS].bits[at / 8] & 1u << at % 8) != 0)
                break;
            chain[count++ % BATCH] = at;
            at = s->parent;
        }
        if (count == 0 || o->broken)
            return;
        for (size_t i = count, done = 0; i > 0 && done < BATCH; i--, done++) {
            uint32_t one = chain[(i - 1) % BATCH];

            s = names_get_stack(o->names, one);
            if (!first_time(o, OUTPUT_STACKS, one))
                return;
            need_frame(o, s->frame);
            recording_put_stack(&o->definitions[OUTPUT_STACKS], one, s->parent, s->frame);
        }
    }
}

static uint64_t thread_flags(uint64_t os_id, const char *name)
{
    if (os_id == (uint64_t)os_process_id())
        return RECORDING_THREAD_MAIN;
    if (os_id == (uint64_t)os_thread_id())
        return RECORDING_THREAD_OWN;
    if (text_starts_with(name, ".NET TP") || text_starts_with(name, ".NET Tiered"))
        return RECORDING_THREAD_POOL | RECORDING_THREAD_BACKGROUND;
    if (text_starts_with(name, ".NET Finalizer"))
        return RECORDING_THREAD_FINALIZER | RECORDING_THREAD_BACKGROUND;
    if (text_starts_with(name, ".NET BGC") || text_starts_with(name, ".NET Server GC"))
        return RECORDING_THREAD_GC;
    return 0;
}

static void put_thread(output *o, uint64_t os_id)
{
    recording_thread record = {os_id, 0, 0, 0, 0, 0};
    char kernel[THREAD_NAMES_KERNEL], ended[THREAD_NAMES_KEPT] = "";
    const char *name = kernel;

    thread_names_kernel(os_id, kernel);
    if (o->agent != NULL)
        thread_names_kept(o->agent->ended, os_id, ended);
    if (text_starts_with(ended, kernel)) /* also where the kernel knows none any more */
        name = ended;
    if (name[0] != '\0') {
        bool can_ask = name == kernel && o->agent != NULL && agent_enter_runtime(o->agent);
        buffer clean = BUFFER_EMPTY;

        thread_names_append(&o->names->threads, can_ask ? o->names->info : NULL, os_id, name,
                            &clean);
        record.name = names_intern(o->names, buffer_text(&clean), clean.length);
        buffer_free(&clean);
        need_string(o, (uint32_t)record.name);
    }
    record.flags = thread_flags(os_id, name);
    table_u64_put(&o->threads_sent, os_id, 1);
    recording_put_thread(&o->definitions[OUTPUT_THREADS], &record);
}

static void need_thread(output *o, uint64_t os_id)
{
    uint64_t known;

    if (os_id != 0 && !table_u64_get(&o->threads_sent, os_id, &known))
        put_thread(o, os_id);
}

void output_rename_thread(output *o, uint64_t os_id)
{
    uint64_t known;

    if (table_u64_get(&o->threads_sent, os_id, &known))
        put_thread(o, os_id);
}

void output_define(output *o, recording_column_type type, uint64_t value)
{
    switch (type) {
    case RECORDING_STACK_ID:
        need_stack(o, (uint32_t)value);
        break;
    case RECORDING_STRING_ID:
        need_string(o, (uint32_t)value);
        break;
    case RECORDING_METHOD_ID:
        need_method(o, (uint32_t)value);
        break;
    case RECORDING_MODULE_ID:
        need_module(o, (uint32_t)value);
        break;
    case RECORDING_FRAME_ID:
        need_frame(o, (uint32_t)value);
        break;
    case RECORDING_THREAD_ID:
        need_thread(o, value);
        break;
    default:
        break;
    }
}

static output_table *table_of(output *o, unsigned engine_index, unsigned table)
{
    output_table **at = &o->tables[engine_index * ENGINE_MAX_TABLES + table];

    if (*at == NULL) {
        *at = memory_allocate_array(1, sizeof **at);
        if (*at == NULL)
            return NULL;
        (*at)->table = &ENGINES[engine_index]->tables[table];
        (*at)->id = ENGINE_TABLE_ID(engine_index, table);
    }
    return *at;
}

static size_t bytes_waiting(const output *o)
{
    size_t total = 0;

    for (size_t i = 0; i < OUTPUT_KINDS; i++)
        total += o->definitions[i].length;
    for (size_t i = 0; i < ENGINE_COUNT * ENGINE_MAX_TABLES; i++)
        if (o->tables[i] != NULL)
            total += o->tables[i]->bytes.length;
    return total;
}

recording_rows *output_rows(output *o, unsigned engine_index, unsigned table)
{
    output_table *t = table_of(o, engine_index, table);

    if (t == NULL || o->broken || o->pending.length - o->pending_sent > OUTPUT_LIMIT)
        return NULL;
    if (!t->open) {
        recording_rows_begin(&t->rows, &t->bytes, 0, t->id, t->table);
        t->open = true;
    }
    return &t->rows;
}

void output_row(output *o, unsigned engine_index, unsigned table, const uint64_t *cells)
{
    recording_rows *rows = output_rows(o, engine_index, table);
    uint64_t row[RECORDING_MAXIMUM_COLUMNS];

    if (rows == NULL) {
        o->dropped++;
        return;
    }
    for (size_t i = 0; i < rows->table->column_count; i++) {
        recording_column_type type = rows->table->columns[i].type;

        row[i] = type == RECORDING_TIME ? cells[i] - o->origin_ns : cells[i];
        if (row[i] != rows->previous[i]) /* else the row before needed the same */
            output_define(o, type, cells[i]);
    }
    recording_rows_put_row(rows, row);
    o->rows++;
    if ((o->rows & 255) == 0 && bytes_waiting(o) > GATHER_AT)
        output_gather(o);
}

static void empty(buffer *b)
{
    if (b->capacity > KEPT_ROOM)
        buffer_free(b);
    else
        buffer_clear(b);
}

void output_gather(output *o)
{
    static const uint16_t KINDS[OUTPUT_KINDS] = {RECORDING_STRING, RECORDING_MODULE,
                                                 RECORDING_METHOD, RECORDING_FRAME,
                                                 RECORDING_STACK,  RECORDING_THREAD};
    size_t before = o->pending.length;
    bool failed = o->broken;
    uint64_t rows = 0;

    for (size_t i = 0; i < OUTPUT_KINDS; i++)
        failed = failed || buffer_failed(&o->definitions[i]);
    for (size_t i = 0; i < OUTPUT_KINDS && !failed; i++)
        if (o->definitions[i].length != 0)
            recording_put_chunk(&o->pending, KINDS[i], 0, 0, o->definitions[i].data,
                                o->definitions[i].length);
    for (size_t i = 0; i < ENGINE_COUNT * ENGINE_MAX_TABLES; i++) {
        output_table *t = o->tables[i];

        if (t == NULL || !t->open)
            continue;
        rows += t->rows.rows;
        failed = !recording_rows_end(&t->rows) || failed;
        if (!failed)
            buffer_append(&o->pending, t->bytes.data, t->bytes.length);
        t->open = false;
        empty(&t->bytes);
    }
    for (size_t i = 0; i < OUTPUT_KINDS; i++)
        empty(&o->definitions[i]);
    if (failed || buffer_failed(&o->pending)) {
        /* nothing of this round goes out; what it defined must be defined again */
        o->pending.failed = false;
        o->pending.length = before;
        o->rows -= rows;
        o->dropped += rows;
        forget_sent(o);
    }
    o->broken = false;
}

/* Moves the unsent rest to the front once the sent part is the larger one. */
static void keep_unsent(output *o)
{
    size_t left = o->pending.length - o->pending_sent;

    if (o->pending_sent < left)
        return;
    memmove(o->pending.data, o->pending.data + o->pending_sent, left);
    o->pending.length = left;
    o->pending_sent = 0;
}

int output_send(output *o, int descriptor)
{
    while (o->pending_sent < o->pending.length) {
        ssize_t n = send(descriptor, o->pending.data + o->pending_sent,
                         o->pending.length - o->pending_sent, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            keep_unsent(o);
            return 0;
        }
        if (n < 0)
            return -errno;
        o->pending_sent += (size_t)n;
    }
    o->pending_sent = 0;
    empty(&o->pending);
    return 0;
}

static bool write_pending(const output *o, int file)
{
    size_t at = o->pending_sent;

    while (at < o->pending.length) {
        ssize_t n = write(file, o->pending.data + at, o->pending.length - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

/* One byte that carries the descriptor; it is no part of the stream. */
static int send_file(int descriptor, int file)
{
    alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof file)] = {0};
    struct iovec byte = {.iov_base = "", .iov_len = 1};
    struct msghdr message = {.msg_iov = &byte,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    int room = LAST_ROOM;

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(header), &file, sizeof file);
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    return sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -errno;
}

int output_hand_over(output *o, int descriptor)
{
    int file;
    int code;

    if (!output_has_pending(o))
        return 0;
    file = (int)syscall(SYS_memfd_create, "clarinet", CLOSE_ON_EXEC);
    if (file < 0)
        return -errno;
    code = write_pending(o, file) ? send_file(descriptor, file) : -EIO;
    close(file);
    if (code == 0) {
        o->pending_sent = 0;
        empty(&o->pending);
    }
    return code;
}
