/* waits: see waits.h. */
#include "agent/waits.h"

#include <string.h>

#include "agent/gone.h"
#include "agent/read_self.h"

enum {
    MOST_OBJECTS = 8192,
    MOST_OF_A_THREAD = 192,
    MOST_OF_A_QUEUE = 4096,
    MOST_BYTES = 2048,         /* of one object */
    MOST_OF_AN_ARRAY = 131072, /* that a context or a scheduler leads to */
    MOST_COPIED = 1 << 21,     /* bytes, with such arrays */
    DEEPEST = 24,
    QUEUED = 0x80,  /* of a depth: a context or a scheduler led there */
    SCANNED = 8192, /* bytes of one stack */
    MOST_PARENTS = 12,
    MOST_CLASSES = 64, /* of a thread that waits in the runtime */
    THREAD_BYTES = 0x800,
    FUTEX = 202,
    BATCH = 256, /* words that are asked for in one call */
    KEPT_FIELDS = 32,
    OUTERMOST = 512,     /* bytes of a frame */
    OLD_READERS = 0x3ff, /* of the state of an old lock */
    /* of a method table */
    TABLE_BASE_SIZE = 4,
    TABLE_PARENT = 16,
    TABLE_MODULE = 24,
    TABLE_CLASS = 40,
    TABLE_BYTES = 48,
};

enum {
    TYPE_NONE,
    TYPE_LOCK,
    TYPE_READER_WRITER,
    TYPE_SEMAPHORE,
    TYPE_THREAD,
    TYPE_TASK,
    TYPE_HANDLE,
    TYPE_EVENT,
    TYPE_OLD_LOCK,
    TYPE_IDLE,
    TYPE_CONTINUATION,
    TYPE_READER_COUNT,
    TYPE_OLD_ENTRY, /* of a reader's list of old locks */
    TYPE_DELEGATE,
    TYPE_LIST,
    TYPE_SAFE_HANDLE,
    TYPE_CONTEXT,
    TYPE_SCHEDULER,
    TYPE_ARRAY,
    TYPE_STATE, /* of an async method, where it is an object of its own; known by the box alone */
    TYPE_OTHER,
};
#define ANY (~(1u << TYPE_OTHER)) /* types */

/* No pointers, which would need relocations. */
static const char TYPE_NAMES[WAITS_TYPES][43] = {
    [TYPE_LOCK] = "System.Threading.Lock",
    [TYPE_READER_WRITER] = "System.Threading.ReaderWriterLockSlim",
    [TYPE_SEMAPHORE] = "System.Threading.SemaphoreSlim",
    [TYPE_THREAD] = "System.Threading.Thread",
    [TYPE_TASK] = "System.Threading.Tasks.Task",
    [TYPE_HANDLE] = "System.Threading.WaitHandle",
    [TYPE_EVENT] = "System.Threading.ManualResetEventSlim",
    [TYPE_IDLE] = "System.Threading.LowLevelLifoSemaphore",
    [TYPE_OLD_LOCK] = "System.Threading.ReaderWriterLock",
    [TYPE_OLD_ENTRY] = "ThreadLocalLockEntry",
    [TYPE_CONTINUATION] = "System.Threading.Tasks.TaskContinuation",
    [TYPE_READER_COUNT] = "System.Threading.ReaderWriterCount",
    [TYPE_DELEGATE] = "System.Delegate",
    [TYPE_LIST] = "System.Collections.Generic.List`1",
    [TYPE_SAFE_HANDLE] = "Microsoft.Win32.SafeHandles.SafeWaitHandle",
    [TYPE_CONTEXT] = "System.Threading.SynchronizationContext",
    [TYPE_SCHEDULER] = "System.Threading.Tasks.TaskScheduler",
};

/* ---- memory ---- */

/* Pages that were read are kept for the look: classes stand close together, and nothing moves while
 * the runtime stands still. */
static bool read_memory(waits *w, uintptr_t address, void *into, size_t length)
{
    return address >= PEEK_PAGE && peek_pages_read(&w->pages, address, into, length);
}

/* 0 when it cannot be read. */
static uintptr_t read_word(waits *w, uintptr_t address)
{
    uintptr_t word = 0;

    return read_memory(w, address, &word, sizeof word) ? word : 0;
}

/* Addresses of one kind lie alike in their pages: the upper part of the address counts too. */
static size_t spread(uintptr_t address)
{
    return (size_t)((address >> 3) * 0x9e3779b97f4a7c15u >> 40);
}

static waits_head *head_of(waits *w, uintptr_t address)
{
    return &w->heads[spread(address) % WAITS_HEADS];
}

static uintptr_t *stranger_of(waits *w, uintptr_t address)
{
    return &w->strangers[spread(address) % WAITS_STRANGERS];
}

static bool is_address(uintptr_t word)
{
    return word >= 4096 && (word & 7) == 0 && word >> 47 == 0;
}

/* Asks the kernel for the words at all these addresses. It stops at one that cannot be read; that
 * one is passed over. */
static void read_batch(waits *w, const struct iovec *there, size_t count)
{
    uintptr_t words[BATCH] = {0};
    size_t done = 0;

    while (done < count) {
        struct iovec here = {words + done, (count - done) * sizeof *words};
        ssize_t got = process_vm_readv(w->process.process, &here, 1, there + done, count - done, 0);

        done += (got < 0 ? 0 : (size_t)got / sizeof *words) + 1;
    }
    for (size_t i = 0; i < count; i++) {
        waits_head *head = head_of(w, (uintptr_t)there[i].iov_base);

        if (head->address == (uintptr_t)there[i].iov_base)
            head->word = words[i];
    }
}

/* The words at those of `addresses` that may be objects, many in one call: a call of its own for
 * each is most of the time of a look. */
static void read_heads(waits *w, const uintptr_t *addresses, size_t count, const uintptr_t stack[2])
{
    struct iovec there[BATCH];
    uint64_t known;
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        uintptr_t at = addresses[i];
        waits_head *head = head_of(w, at);

        if (!is_address(at) || (at >= stack[0] && at < stack[1]) || head->address == at ||
            *stranger_of(w, at) == at || table_u64_get(&w->known, at, &known))
            continue;
        *head = (waits_head){at, 0};
        there[n++] = (struct iovec){(void *)at, sizeof at};
        if (n == BATCH) {
            read_batch(w, there, n);
            n = 0;
        }
    }
    if (n != 0)
        read_batch(w, there, n);
}

/* ---- before the suspension ---- */

static int take_join(void *context, mdToken token)
{
    void **both = context;
    waits *w = both[0];
    char memory[64];
    buffer name;

    buffer_fix(&name, memory, sizeof memory);
    if (CLR_OK(clr_get_method(both[1], token, &name, NULL)) &&
        strncmp(buffer_text(&name), "Join", 4) == 0 && w->join_method_count < WAITS_JOIN_METHODS)
        w->join_methods[w->join_method_count++] = token;
    return 1;
}

static void know_core(waits *w, ModuleID module, IMetaDataImport2 *import)
{
    void *both[2] = {w, import};
    mdTypeDef object = 0;

    w->core = module;
    if (clr_find_type(import, "System.Object", 0, &object) == S_OK)
        clr_info_get_class_from_token_and_type_args(w->info, module, object, 0, NULL,
                                                    &w->object_class);
    for (size_t i = 1; i < WAITS_TYPES; i++)
        if (TYPE_NAMES[i][0] != '\0' && i != TYPE_OLD_LOCK && i != TYPE_OLD_ENTRY)
            clr_find_type(import, TYPE_NAMES[i], 0, &w->tokens[i]);
    clr_find_field(import, w->tokens[TYPE_TASK], "t_currentTask", &w->running_task);
    clr_find_field(import, w->tokens[TYPE_READER_WRITER], "t_rwc", &w->reader_counts);
    clr_find_field(import, w->tokens[TYPE_THREAD], "_DONT_USE_InternalThread", &w->native_thread);
    clr_each_method(import, w->tokens[TYPE_THREAD], take_join, both);
}

static void know_threading(waits *w, ModuleID module, IMetaDataImport2 *import)
{
    mdTypeDef *tokens = w->tokens;

    w->threading = module;
    if (clr_find_type(import, TYPE_NAMES[TYPE_OLD_LOCK], 0, &tokens[TYPE_OLD_LOCK]) != S_OK ||
        clr_find_type(import, TYPE_NAMES[TYPE_OLD_ENTRY], tokens[TYPE_OLD_LOCK],
                      &tokens[TYPE_OLD_ENTRY]) != S_OK)
        return;
    clr_find_field(import, tokens[TYPE_OLD_LOCK], "_state", &w->lock_state);
    clr_find_field(import, tokens[TYPE_OLD_ENTRY], "t_lockEntryHead", &w->lock_entries);
}

static int take_module(void *context, uintptr_t module)
{
    waits *w = context;
    clr_text *path = w->core != 0 && w->threading != 0 ? NULL : clr_text_create();
    IMetaDataImport2 *import = NULL;

    table_u64_put(&w->modules, module, 1);
    if (path != NULL && clr_get_module_path(w->info, module, path, NULL) == S_OK) {
        bool is_core = strstr(clr_text_value(path), "System.Private.CoreLib") != NULL;

        if ((is_core ? w->core == 0
                     : strstr(clr_text_value(path), "/System.Threading.dll") != NULL) &&
            clr_open_import(w->info, module, &import) == S_OK) {
            (is_core ? know_core : know_threading)(w, module, import);
            clr_release(import);
        }
    }
    clr_text_free(path);
    return 1;
}

/* ---- what a word is ---- */

/* A method table names one of the runtime's modules, and its class (or that of its canonical form)
 * points back to it. Native structures were seen that do so too; but the parents of a method table
 * are such ones as well, and the last is that of System.Object. */
static bool is_method_table(waits *w, uintptr_t table)
{
    uintptr_t words[8], heads[TABLE_BYTES / sizeof(uintptr_t)];

    for (int i = 0; i < MOST_PARENTS && table != 0 && (table & 7) == 0; i++) {
        uintptr_t class_word, canonical = table;
        uint64_t known;
        size_t k = 0;

        if (!read_memory(w, table, heads, sizeof heads) ||
            !table_u64_get(&w->modules, heads[TABLE_MODULE / sizeof *heads], &known))
            return false;
        if (table == w->object_class)
            return true;
        class_word = heads[TABLE_CLASS / sizeof *heads];
        if ((class_word & 3) != 0) {
            canonical = class_word & ~(uintptr_t)3;
            class_word = (canonical & 7) != 0 ? 0 : read_word(w, canonical + TABLE_CLASS);
        }
        if (class_word == 0 || (class_word & 7) != 0 ||
            !read_memory(w, class_word, words, sizeof words))
            return false;
        while (k < 8 && words[k] != canonical)
            k++;
        if (k == 8)
            return false;
        table = heads[TABLE_PARENT / sizeof *heads];
    }
    return false;
}

static unsigned type_by_parents(waits *w, ClassID class_id)
{
    ClassID at = class_id, parent = 0;

    for (int i = 0; i < MOST_PARENTS && at != 0; i++, at = parent) {
        CorElementType element = 0;
        uint32_t rank = 0, arguments = 0;
        ModuleID module = 0;
        mdTypeDef token = 0;

        if (clr_info_get_class_id_info2(w->info, at, &module, &token, &parent, 0, &arguments,
                                        NULL) != S_OK)
            return i == 0 && clr_info_is_array_class(w->info, at, &element, &parent, &rank) == S_OK
                       ? TYPE_ARRAY
                       : TYPE_NONE;
        for (unsigned k = 1; k < WAITS_TYPES && token != 0; k++) {
            if (w->tokens[k] == token &&
                module == (k == TYPE_OLD_LOCK || k == TYPE_OLD_ENTRY ? w->threading : w->core)) {
                if (i == 0 || w->classes_seen[k] == 0)
                    w->classes_seen[k] = at;
                return k;
            }
        }
    }
    return TYPE_OTHER;
}

static unsigned type_of_class(waits *w, ClassID class_id, bool is_sure)
{
    uint64_t known;
    unsigned type;

    if (class_id < 4096 || (class_id & 7) != 0 || class_id >> 47 != 0)
        return TYPE_NONE;
    if (table_u64_get(&w->classes, class_id, &known))
        return (unsigned)known;
    type = is_sure || is_method_table(w, class_id) ? type_by_parents(w, class_id) : TYPE_NONE;
    table_u64_put(&w->classes, class_id, type);
    return type;
}

static waits_object *object_at(const waits *w, size_t index)
{
    return (waits_object *)(void *)w->objects.data + index;
}

/* ---- copying objects ---- */

static uint32_t length_of(waits *w, const waits_object *o)
{
    uint64_t size = 0;
    uint32_t elements = 0, most;
    uint16_t element = 0;

    if (o->type == TYPE_ARRAY) {
        if (!read_memory(w, o->address + 8, &elements, sizeof elements) ||
            !read_memory(w, o->class_id, &element, sizeof element))
            return 0;
        size = 24 + (uint64_t)elements * element;
    } else if (!read_memory(w, o->class_id + TABLE_BASE_SIZE, &size, 4) || size < 16) {
        return 0;
    }
    most = o->type == TYPE_ARRAY && (o->depth & QUEUED) != 0 && w->bytes.length < MOST_COPIED
               ? MOST_OF_AN_ARRAY
               : MOST_BYTES;
    return size - 8 < most ? (uint32_t)size - 8 : most;
}

/* Copies an object of an allowed type, once; its type or TYPE_NONE. */
static unsigned take_object(waits *w, uintptr_t address, unsigned depth, unsigned allowed)
{
    waits_object o = {.address = address, .depth = (uint8_t)depth};
    uintptr_t *stranger = stranger_of(w, address);
    uint64_t known;

    /* return addresses are the same on many stacks */
    if (*stranger == address && (allowed >> TYPE_OTHER & 1) == 0)
        return TYPE_NONE;
    if (!is_address(address))
        return TYPE_NONE;
    if (table_u64_get(&w->known, address, &known))
        return object_at(w, known - 1)->type;
    o.class_id =
        head_of(w, address)->address == address ? head_of(w, address)->word : read_word(w, address);
    o.class_id &= ~(uintptr_t)7;
    o.type = (uint8_t)type_of_class(w, o.class_id, false);
    if (o.type == TYPE_NONE || o.type == TYPE_OTHER)
        *stranger = address;
    if (o.type == TYPE_NONE || (allowed >> o.type & 1) == 0 ||
        waits_object_count(w) == MOST_OBJECTS)
        return TYPE_NONE;
    o.length = length_of(w, &o);
    o.at = w->bytes.length;
    /* an object without its bytes must not be there to be followed */
    if (o.length == 0 || !buffer_reserve(&w->bytes, o.length) ||
        !buffer_reserve(&w->objects, sizeof o) ||
        !read_memory(w, address, w->bytes.data + o.at, o.length))
        return TYPE_NONE;
    w->bytes.length += o.length;
    buffer_append(&w->objects, &o, sizeof o);
    if (!table_u64_put(&w->known, address, waits_object_count(w)))
        return TYPE_NONE;
    return o.type;
}

/* A task leads to what it waits for and to what waits for it. */
static bool is_followed(unsigned type)
{
    return type == TYPE_TASK || type == TYPE_CONTINUATION || type == TYPE_READER_COUNT ||
           type == TYPE_OLD_ENTRY || type == TYPE_DELEGATE || type == TYPE_LIST ||
           type == TYPE_ARRAY || type == TYPE_THREAD || type == TYPE_HANDLE || type >= TYPE_CONTEXT;
}

/* The box of an async method names the class of its state last. In code that was not optimised that
 * is a class with objects of its own. */
static void know_state(waits *w, const waits_object *o, const uintptr_t *words, size_t count)
{
    ClassID arguments[2] = {0}, parent = 0;
    ModuleID module = 0;
    mdTypeDef token = 0;
    uint32_t n = 0;
    unsigned known;

    if (clr_info_get_class_id_info2(w->info, o->class_id, &module, &token, &parent, 2, &n,
                                    arguments) != S_OK ||
        n != 2 || module != w->core)
        return;
    known = type_of_class(w, arguments[1], true); /* other tasks have two types too */
    if (known != TYPE_OTHER && known != TYPE_STATE)
        return;
    for (size_t k = 0; k < count; k++) {
        uintptr_t *stranger = stranger_of(w, words[k]);
        const waits_head *head = head_of(w, words[k]);

        if (!is_address(words[k]) ||
            ((head->address == words[k] ? head->word : read_word(w, words[k])) & ~(uintptr_t)7) !=
                arguments[1])
            continue;
        table_u64_put(&w->classes, arguments[1], TYPE_STATE);
        if (*stranger == words[k])
            *stranger = 0;
    }
}

/* What an object leads to, a stretch of its words. What a context or a scheduler leads to is of any
 * type: its queue is the program's own. */
static void follow_words(waits *w, const waits_object *o, const uintptr_t *words, size_t count,
                         size_t from)
{
    static const uintptr_t NO_STACK[2] = {0, 0};
    unsigned allowed =
        o->type == TYPE_LIST || o->type == TYPE_TASK ? ANY : ANY & ~(1u << TYPE_ARRAY);
    unsigned queued = o->type == TYPE_CONTEXT || o->type == TYPE_SCHEDULER ? QUEUED : 0;

    queued |= o->depth & QUEUED;
    if (queued != 0)
        allowed = ~0u;
    read_heads(w, words, count, NO_STACK);
    if (o->type == TYPE_TASK)
        know_state(w, o, words, count);
    for (size_t k = 0; k < count; k++) {
        if (waits_object_count(w) >= from + (queued != 0 ? MOST_OF_A_QUEUE : MOST_OF_A_THREAD))
            allowed &= ANY; /* it would lead nowhere, and take the room of other threads */
        take_object(w, words[k], (o->depth + 1u) | queued, allowed);
    }
}

static void follow(waits *w, size_t from)
{
    for (size_t i = from; i < waits_object_count(w) && i < from + MOST_OF_A_QUEUE; i++) {
        waits_object o = *object_at(w, i);
        uintptr_t words[MOST_BYTES / sizeof(uintptr_t)];
        uint32_t length = o.type == TYPE_THREAD && o.length > 64 ? 64 : o.length;
        bool is_queued = (o.depth & QUEUED) != 0;

        if (!is_followed(o.type) || (o.depth & ~QUEUED) >= DEEPEST ||
            (!is_queued && i >= from + MOST_OF_A_THREAD))
            continue;
        for (uint32_t at = 8; at + 8 <= length; at += sizeof words) {
            uint32_t stretch = length - at < sizeof words ? length - at : (uint32_t)sizeof words;

            /* what is taken may move the bytes */
            memcpy(words, w->bytes.data + o.at + at, stretch);
            follow_words(w, &o, words, stretch / sizeof *words, from);
        }
    }
}

static void link_to(waits *w, uint32_t os_thread, uint32_t role, uintptr_t object)
{
    waits_link link = {os_thread, role, object};
    const waits_link *last = (const waits_link *)(const void *)(w->links.data + w->links.length);

    for (size_t i = w->links.length / sizeof link; i > 0 && last[-1].os_thread == os_thread; i--)
        if ((--last)->object == object && (last->role == role || role == WAITS_LINK_REFERS))
            return;
    buffer_append(&w->links, &link, sizeof link);
}

/* ---- a thread ---- */

/* What the thread waits for, by the innermost frames of the core library. */
static unsigned wished_types(waits *w, const waits_frame *frames, size_t count, size_t *depth)
{
    unsigned wished = 0;

    for (*depth = 0; *depth < count; ++*depth) {
        ClassID class_id = 0;
        ModuleID module = 0;
        mdToken token = 0;
        unsigned type;

        if (clr_info_get_function_info(w->info, frames[*depth].function, &class_id, &module,
                                       &token) != S_OK ||
            (module != w->core && module != w->threading))
            return wished;
        type = class_id == 0 ? TYPE_NONE : type_of_class(w, class_id, true);
        if (module != w->core && type != TYPE_OLD_LOCK)
            return wished;
        if (type == TYPE_THREAD) {
            for (size_t i = 0; i < w->join_method_count; i++)
                if (w->join_methods[i] == token)
                    wished |= 1u << TYPE_THREAD;
            wished |= 1u << TYPE_IDLE;
        } else if (type != TYPE_NONE && type <= TYPE_IDLE) {
            wished |= 1u << type | (type == TYPE_HANDLE ? 1u << TYPE_SAFE_HANDLE : 0);
        }
    }
    return wished;
}

static void take_classes(waits *w, uint32_t os_thread, const uintptr_t *words, size_t count,
                         const uintptr_t stack[2])
{
    uintptr_t found[MOST_CLASSES];
    size_t classes = 0;

    for (size_t i = 0; i < count && classes < MOST_CLASSES; i++) {
        uintptr_t *stranger = stranger_of(w, words[i]);
        size_t k = 0;

        while (k < classes && found[k] != words[i])
            k++;
        if (k < classes || words[i] < 4096 || (words[i] & 7) != 0 || words[i] >> 47 != 0 ||
            (words[i] >= stack[0] && words[i] < stack[1]) || *stranger == (words[i] | 1))
            continue;
        if (!is_method_table(w, words[i])) {
            *stranger = words[i] | 1; /* it may be an object all the same */
            continue;
        }
        found[classes++] = words[i];
        link_to(w, os_thread, WAITS_LINK_CLASS, words[i]);
    }
}

static void take_words(waits *w, uint32_t os_thread, const uintptr_t *words, size_t count,
                       unsigned wished, uint32_t role, const uintptr_t stack[2])
{
    read_heads(w, words, count, stack);
    for (size_t i = 0; i < count; i++) {
        /* words that lead into the stack itself lead to no object */
        unsigned type = words[i] >= stack[0] && words[i] < stack[1]
                            ? TYPE_NONE
                            : take_object(w, words[i], 0, wished);

        if (type != TYPE_NONE && (wished >> type & 1) != 0)
            link_to(w, os_thread, role, words[i]);
    }
}

/* Objects of the program's own that have a semaphore or a mutex in a field. */
static void take_keepers(waits *w, uint32_t os_thread, const uintptr_t *words, size_t count,
                         const uintptr_t stack[2])
{
    uintptr_t fields[KEPT_FIELDS];

    for (size_t i = 0; i < count; i++) {
        waits_object o = {.address = words[i], .type = TYPE_OTHER};
        const waits_head *head = head_of(w, words[i]);
        uint32_t length, k = 1;

        if (!is_address(words[i]) || (words[i] >= stack[0] && words[i] < stack[1]))
            continue;
        o.class_id =
            (head->address == words[i] ? head->word : read_word(w, words[i])) & ~(uintptr_t)7;
        if (type_of_class(w, o.class_id, false) != TYPE_OTHER)
            continue;
        length = length_of(w, &o);
        if (length > sizeof fields)
            length = sizeof fields;
        if (!read_memory(w, words[i], fields, length))
            continue;
        while (k < length / 8 &&
               take_object(w, fields[k], 0, 1u << TYPE_SEMAPHORE | 1u << TYPE_HANDLE) == TYPE_NONE)
            k++;
        if (k < length / 8 && take_object(w, words[i], 0, ~0u) != TYPE_NONE)
            link_to(w, os_thread, WAITS_LINK_HAS, words[i]);
    }
}

/* Copies a stretch of a stack; how many words. */
static size_t copy_stack(waits *w, uintptr_t from, uintptr_t to, uintptr_t *words)
{
    size_t length = to > from ? (to - from) & ~(size_t)7 : 0;

    if (length > SCANNED)
        length = SCANNED;
    return length != 0 && read_memory(w, from, words, length) ? length / sizeof *words : 0;
}

static void scan(waits *w, const waits_thread *t, native_stack_spot spot, size_t depth,
                 unsigned wished)
{
    uintptr_t words[SCANNED / sizeof(uintptr_t)];
    const waits_frame *frames = t->frames;
    uintptr_t last = frames[t->count - 1].stack_pointer;
    uintptr_t to = depth < t->count ? frames[depth].stack_pointer : last;
    uintptr_t stack[2] = {spot.stack & ~(uintptr_t)7, t->stack_end > last ? t->stack_end : last};
    size_t n;

    if (stack[0] == 0 || stack[0] > frames[0].stack_pointer)
        stack[0] = frames[0].stack_pointer;
    if (wished == 0 && spot.call != FUTEX)
        return;
    n = copy_stack(w, stack[0], to, words);
    if (wished == 0) {
        take_classes(w, t->os_thread, words, n, stack);
        return;
    }
    take_words(w, t->os_thread, words, n, wished, WAITS_LINK_WAITS, stack);
    for (size_t i = 0; i < depth; i++)
        take_words(w, t->os_thread, frames[i].registers, WAITS_REGISTERS, wished, WAITS_LINK_WAITS,
                   stack);
    wished &= 1u << TYPE_SEMAPHORE | 1u << TYPE_HANDLE;
    if (wished == 0)
        return;
    /* no owner is kept in these: what the callers have at hand tells who may be it */
    n = copy_stack(w, to, last, words);
    take_words(w, t->os_thread, words, n, wished, WAITS_LINK_REFERS, stack);
    /* the outermost method keeps its own above where its stack pointer is */
    n = copy_stack(w, to, last + OUTERMOST, words);
    take_keepers(w, t->os_thread, words, n, stack);
    for (size_t i = depth; i < t->count; i++) {
        take_words(w, t->os_thread, frames[i].registers, WAITS_REGISTERS, wished, WAITS_LINK_REFERS,
                   stack);
        take_keepers(w, t->os_thread, frames[i].registers, WAITS_REGISTERS, stack);
    }
}

/* Where a field of a class that was met stands; 0 = not known. */
static uint32_t offset_of(waits *w, unsigned type, mdFieldDef field)
{
    COR_FIELD_OFFSET fields[WAITS_LAYOUTS];
    uint32_t count = 0, size = 0;

    if (clr_info_get_class_layout(w->info, w->classes_seen[type], fields, WAITS_LAYOUTS, &count,
                                  &size) != S_OK)
        return 0;
    for (uint32_t i = 0; i < count && i < WAITS_LAYOUTS; i++)
        if (fields[i].ridOfField == field)
            return fields[i].ulOffset;
    return 0;
}

/* The Thread object of a native thread hangs on a handle, which is found by what it leads to. */
static uintptr_t own_object(waits *w, ThreadID thread, uint32_t offset)
{
    uintptr_t handle = read_word(w, thread + offset);
    uintptr_t object = (handle & 7) != 0 ? 0 : read_word(w, handle);

    if (object == 0 || (object & 7) != 0 ||
        type_of_class(w, read_word(w, object) & ~(uintptr_t)7, false) != TYPE_THREAD)
        return 0;
    if (w->native_offset == 0)
        w->native_offset = offset_of(w, TYPE_THREAD, w->native_thread);
    return w->native_offset != 0 && read_word(w, object + w->native_offset) == thread ? object : 0;
}

static void take_self(waits *w, ThreadID thread, uint32_t os_thread)
{
    uintptr_t object = w->handle_offset == 0 ? 0 : own_object(w, thread, w->handle_offset);

    if (object != 0 && take_object(w, object, 0, ANY) == TYPE_THREAD)
        link_to(w, os_thread, WAITS_LINK_SELF, object);
}

void waits_look(waits *w, const waits_thread *t, native_stack_spot *spot)
{
    size_t before = waits_object_count(w);
    size_t depth;
    unsigned wished;

    if (w->core == 0)
        return;
    take_self(w, t->id, t->os_thread);
    if (t->count != 0 && t->frames[0].stack_pointer != 0) {
        wished = wished_types(w, t->frames, t->count, &depth);
        if (wished == 0 ? !t->waits_for_monitor : (wished & ((1u << TYPE_IDLE) - 1)) != 0) {
            *spot = native_stack_place(t->os_thread);
            scan(w, t, *spot, depth, wished);
        }
    }
    follow(w, before);
}

static void take_static(waits *w, ThreadID thread, uint32_t os_thread, unsigned type,
                        mdFieldDef field, uint32_t role)
{
    AppDomainID domain = 0;
    void *address = NULL;
    uintptr_t object;

    if (w->classes_seen[type] == 0 || field == 0 ||
        clr_info_get_thread_appdomain(w->info, thread, &domain) != S_OK ||
        clr_info_get_thread_static_address2(w->info, w->classes_seen[type], field, domain, thread,
                                            &address) != S_OK)
        return;
    object = read_word(w, (uintptr_t)address);
    if (take_object(w, object, 0, ANY) != TYPE_NONE)
        link_to(w, os_thread, role, object);
}

/* The class of the lists of old locks is asked for only when somebody has such a lock as a reader:
 * then it is there. The runtime was seen to crash when it had to load a class here. */
static void know_entries(waits *w)
{
    for (size_t i = 0; i < waits_object_count(w) && w->classes_seen[TYPE_OLD_ENTRY] == 0; i++) {
        const waits_object *o = object_at(w, i);
        uint32_t state = 0;

        if (o->type != TYPE_OLD_LOCK)
            continue;
        if (w->state_offset == 0)
            w->state_offset = offset_of(w, TYPE_OLD_LOCK, w->lock_state);
        if (w->state_offset != 0 && w->state_offset + sizeof state <= o->length)
            memcpy(&state, w->bytes.data + o->at + w->state_offset, sizeof state);
        if ((state & OLD_READERS) != 0)
            clr_info_get_class_from_token_and_type_args(w->info, w->threading,
                                                        w->tokens[TYPE_OLD_ENTRY], 0, NULL,
                                                        &w->classes_seen[TYPE_OLD_ENTRY]);
    }
}

void waits_look_at_statics(waits *w, ThreadID thread, uint32_t os_thread)
{
    size_t before = waits_object_count(w);

    if (w->core == 0)
        return;
    take_static(w, thread, os_thread, TYPE_TASK, w->running_task, WAITS_LINK_RUNS);
    take_static(w, thread, os_thread, TYPE_READER_WRITER, w->reader_counts, WAITS_LINK_READS);
    if (w->classes_seen[TYPE_OLD_LOCK] != 0) {
        know_entries(w);
        take_static(w, thread, os_thread, TYPE_OLD_ENTRY, w->lock_entries, WAITS_LINK_ENTERED);
    }
    follow(w, before);
}

/* ---- before the suspension, and after all ---- */

static int find_handle(void *context, uintptr_t thread)
{
    waits *w = context;

    for (uint32_t offset = 8; offset < THREAD_BYTES && w->handle_offset == 0; offset += 8)
        if (own_object(w, thread, offset) != 0)
            w->handle_offset = offset;
    return w->handle_offset == 0;
}

static void forget(waits *w)
{
    table_u64_free(&w->modules);
    table_u64_free(&w->classes);
    table_u64_free(&w->known);
    buffer_clear(&w->objects);
    buffer_clear(&w->links);
    buffer_clear(&w->bytes);
    memset(w->strangers, 0, sizeof w->strangers);
    memset(w->heads, 0, sizeof w->heads);
}

void waits_begin(waits *w, const clr_info *info)
{
    w->info = info;
    w->process = (peek_process){read_self_process(), -1};
    w->memory = (peek){peek_process_read, &w->process};
    peek_pages_init(&w->pages, &w->memory);
    forget(w);
    clr_each_module(info, take_module, w);
    if (w->core != 0 && w->handle_offset == 0)
        gone_each_thread(info, find_handle, w);
    peek_pages_forget(&w->pages); /* the look begins */
}

void waits_free(waits *w)
{
    forget(w);
    buffer_free(&w->objects);
    buffer_free(&w->links);
    buffer_free(&w->bytes);
    memset(w, 0, sizeof *w);
}
