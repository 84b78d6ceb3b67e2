/* monitors: see monitors.h. Layouts are those of docs/notes/locks-and-tasks.md. */
#include "agent/monitors.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "agent/read_self.h"
#include "base/memory.h"
#include "base/os.h"

enum {
    VARIABLES = 400,        /* of the runtime's table of variables, looked through */
    PROOF = 64,             /* entries of the sync table that are read at once */
    THREAD_BYTES = 0x800,   /* of the native thread, looked through */
    STACK_BYTES = 16 << 20, /* a record is not further up the stack */
    CALIBRATED_ON = 48,     /* threads, at most */
    ENTRY_SIZE = 16,
    BLOCK_OWNER = 16,
    BLOCK_INDEX = 28,
    BLOCK_WAITING_SINCE = 48,
    HEADER_IS_BLOCK = 0x08000000,
    HEADER_IS_HASH = 0x04000000,
    INDEX_MASK = 0x03ffffff,
};

/* Where the record was found on the runtimes that were tried: 8.0, 9.0, 10.0. */
static const size_t KNOWN_OFFSETS[] = {0x4a8, 0x408, 0x2a0};

/* The record on the blocked thread's stack. */
typedef struct {
    uintptr_t block;
    uintptr_t appdomain;
    uint32_t kind; /* 0 entering, 1 Monitor.Wait */
    int32_t timeout_ms;
} blocking;

/* ---- the sync table ---- */

static int find_runtime(struct dl_phdr_info *info, size_t size, void *path)
{
    const char *name = info->dlpi_name != NULL ? strrchr(info->dlpi_name, '/') : NULL;

    (void)size;
    if (name == NULL || strcmp(name, "/libcoreclr.so") != 0)
        return 0;
    snprintf(path, 1024, "%s", info->dlpi_name);
    return 1;
}

static uintptr_t variables_of_runtime(void)
{
    char path[1024] = "";
    void *library;
    void *table;

    if (dl_iterate_phdr(find_runtime, path) == 0)
        return 0;
    library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL)
        return 0;
    table = dlsym(library, "g_dacTable");
    dlclose(library);
    return (uintptr_t)table;
}

/* A live entry: its object says that it has sync block k, and the block says so too. */
static bool is_entry(uintptr_t block, uintptr_t object, uint32_t k)
{
    uint32_t header;
    uint32_t index;

    return block != 0 && object != 0 && (object & 7) == 0 &&
           read_self(object - 4, &header, sizeof header) &&
           read_self(block + BLOCK_INDEX, &index, sizeof index) &&
           (header & HEADER_IS_BLOCK) != 0 && (header & HEADER_IS_HASH) == 0 &&
           (header & INDEX_MASK) == k && (index & INDEX_MASK) == k;
}

/* What comes after the entries in use is memory that nobody cleared: in a program with a long list
 * of assemblies, as every ASP.NET Core service has one, it is full of old texts. */
static bool is_sync_table(uintptr_t table)
{
    uintptr_t entries[PROOF][2];
    size_t good = 0;

    if ((table & 7) != 0 || !read_self(table, entries, sizeof entries))
        return false;
    for (uint32_t k = 1; k < PROOF; k++) {
        if (entries[k][0] == 0 || entries[k][1] == 0 || (entries[k][1] & 1) != 0)
            continue; /* never used, or free */
        if (!is_entry(entries[k][0], entries[k][1], k))
            break;
        good++;
    }
    return good != 0;
}

static void find_table(monitors *m)
{
    uintptr_t addresses[VARIABLES];
    uintptr_t variables;

    m->table = m->variable == 0 ? 0 : read_self_word(m->variable);
    if (m->table != 0 && is_sync_table(m->table))
        return;
    m->table = 0;
    variables = variables_of_runtime();
    if (variables == 0 || !read_self(variables, addresses, sizeof addresses))
        return;
    for (size_t i = 0; i < VARIABLES && m->table == 0; i++) {
        uintptr_t table = addresses[i] == 0 ? 0 : read_self_word(addresses[i]);

        if (table != 0 && is_sync_table(table)) {
            m->table = table;
            m->variable = addresses[i];
        }
    }
}

static void read_table(monitors *m)
{
    uintptr_t entries[PROOF][2];
    size_t quiet = 0;

    m->count = 1;
    for (size_t at = 0; at < MONITORS_MOST && quiet < 4; at += PROOF) {
        bool any = false;

        if (!read_self(m->table + at * ENTRY_SIZE, entries, sizeof entries))
            break;
        for (size_t k = at == 0 ? 1 : 0; k < PROOF; k++) {
            if ((entries[k][1] & 1) != 0 ||
                !is_entry(entries[k][0], entries[k][1], (uint32_t)(at + k)))
                continue;
            m->blocks[at + k] = entries[k][0];
            m->objects[at + k] = entries[k][1];
            m->count = at + k + 1;
            any = true;
        }
        quiet = any ? 0 : quiet + 1;
    }
}

static size_t index_of(const monitors *m, uintptr_t block)
{
    uint32_t index;

    if (block == 0 || (block & 7) != 0 || !read_self(block + BLOCK_INDEX, &index, sizeof index))
        return 0;
    index &= INDEX_MASK;
    return index < m->count && m->blocks[index] == block ? index : 0;
}

/* ---- the blocking record ---- */

static size_t read_record(const monitors *m, uintptr_t address, blocking *record)
{
    if (address == 0 || (address & 7) != 0 || !read_self(address, record, sizeof *record) ||
        record->kind > 1)
        return 0;
    return index_of(m, record->block);
}

static bool is_known_offset(size_t offset)
{
    for (size_t i = 0; i < sizeof KNOWN_OFFSETS / sizeof *KNOWN_OFFSETS; i++)
        if (KNOWN_OFFSETS[i] == offset)
            return true;
    return false;
}

/* The record stands on the stack of the thread that waits. */
static bool is_vote(const monitors *m, const clr_info *info, const monitors_thread *thread,
                    uintptr_t word)
{
    AppDomainID appdomain = 0;
    blocking record;

    return (thread->stack == 0 || (word > thread->stack && word - thread->stack < STACK_BYTES)) &&
           read_record(m, word, &record) != 0 &&
           clr_info_get_thread_appdomain(info, thread->id, &appdomain) == S_OK &&
           record.appdomain == appdomain;
}

/* Votes of one thread for every place in it; what is not mapped after its end does not vote. Of a
 * thread whose stack is not known only the known places are looked at. */
static void vote(const monitors *m, const clr_info *info, const monitors_thread *thread,
                 uint8_t votes[THREAD_BYTES / 8])
{
    uintptr_t words[THREAD_BYTES / 8];
    size_t length = sizeof words;

    while (length > 0 && !read_self(thread->id, words, length))
        length /= 2;
    for (size_t i = 1; i < length / sizeof *words; i++)
        if (thread->stack != 0 || is_known_offset(i * sizeof *words))
            votes[i] = (uint8_t)(votes[i] + is_vote(m, info, thread, words[i]));
}

/* The place that most threads vote for, the known ones first. */
static void find_offset(monitors *m, const clr_info *info, const monitors_thread *threads,
                        size_t count)
{
    uint8_t votes[THREAD_BYTES / 8] = {0};
    unsigned best = 0;

    for (size_t i = 0; i < count && i < CALIBRATED_ON; i++)
        vote(m, info, &threads[i], votes);
    for (size_t i = 1; i < THREAD_BYTES / 8; i++) {
        unsigned weight = votes[i] * 2u + (votes[i] != 0 && is_known_offset(i * 8) ? 1000 : 0);

        if (weight > best) {
            best = weight;
            m->blocking_offset = i * 8;
        }
    }
}

/* ---- public ---- */

bool monitors_open(monitors *m, const clr_info *info, const monitors_thread *threads, size_t count)
{
    m->count = 0;
    m->blocks = memory_allocate_array(MONITORS_MOST, sizeof *m->blocks);
    m->objects = memory_allocate_array(MONITORS_MOST, sizeof *m->objects);
    if (m->blocks == NULL || m->objects == NULL) {
        monitors_close(m);
        return false;
    }
    find_table(m);
    if (m->table == 0)
        return true;
    read_table(m);
    if (m->blocking_offset == 0)
        find_offset(m, info, threads, count);
    return true;
}

void monitors_close(monitors *m)
{
    memory_free(m->blocks);
    memory_free(m->objects);
    m->blocks = NULL;
    m->objects = NULL;
}

void monitors_look(const monitors *m, ThreadID thread, monitors_wait *wait)
{
    uint8_t block[BLOCK_WAITING_SINCE + 4];
    uint32_t since;
    uint32_t state;
    blocking record;
    size_t index;

    memset(wait, 0, sizeof *wait);
    if (m->blocking_offset == 0)
        return;
    index = read_record(m, read_self_word(thread + m->blocking_offset), &record);
    if (index == 0 || !read_self(record.block, block, sizeof block))
        return;
    wait->is_waiting = true;
    wait->is_monitor_wait = record.kind == 1;
    wait->timeout_ms = record.timeout_ms;
    wait->object = m->objects[index];
    wait->class_id = read_self_word(wait->object) & ~(uintptr_t)7;
    memcpy(&state, block, sizeof state);
    memcpy(&since, block + BLOCK_WAITING_SINCE, sizeof since);
    if ((state & 1) != 0)
        memcpy(&wait->owner, block + BLOCK_OWNER, sizeof wait->owner);
    wait->waiters = state >> 6;
    if (since != 0)
        wait->waited_ms = (uint32_t)(os_monotonic_ns() / 1000000u) - since;
}
