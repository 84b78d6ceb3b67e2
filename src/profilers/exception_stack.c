/* exception_stack: see exception_stack.h. */
#include "profilers/exception_stack.h"

#include <string.h>
#include <ucontext.h>

#include "base/buffer.h"
#include "base/os.h"
#include "base/reader.h"

enum {
    MAXIMUM_NATIVE_FRAMES = 128,
    /* method bodies as ECMA-335 II.25.4 has them */
    BODY_FORMAT = 3,
    BODY_FAT = 3,
    BODY_MORE_SECTIONS = 8,
    SECTION_CLAUSES = 1,
    SECTION_FAT = 0x40,
    SECTION_MORE = 0x80,
    SMALL_CLAUSE = 12,
    FAT_CLAUSE = 24,
    CLAUSE_CATCH = 0,
    CLAUSE_FILTER = 1,
};

bool exception_follows_call(uintptr_t ip)
{
    const uint8_t *p = (const uint8_t *)ip;

#if defined(__x86_64__)
    return p[-5] == 0xe8 || (p[-6] == 0xff && p[-5] == 0x15) ||
           (p[-2] == 0xff && (p[-1] & 0xf8) == 0xd0) || (p[-2] == 0xff && (p[-1] & 0xf8) == 0x10) ||
           (p[-3] == 0xff && (p[-2] & 0x38) == 0x10) || (p[-6] == 0xff && (p[-5] & 0xf8) == 0x90);
#elif defined(__aarch64__)
    uint32_t instruction;

    memcpy(&instruction, p - 4, sizeof instruction);
    return (instruction & 0xfc000000u) == 0x94000000u || (instruction & 0xfffffc1fu) == 0xd63f0000u;
#else
    (void)p;
    return true;
#endif
}

/* Which of the frames from `first` on has this return address; count when none has. */
static size_t frame_with(const snapshot *s, size_t first, uintptr_t address)
{
    while (first < s->count && s->addresses[first] != address)
        first++;
    return first;
}

static FunctionID function_around(const clr_info *info, uintptr_t address)
{
    FunctionID function = 0;
    ReJITID rejit = 0;

    return clr_info_get_function_from_ip3(info, (const uint8_t *)address, &function, &rejit) == S_OK
               ? function
               : 0;
}

/* Which of the frames from `first` on has this return address; count when none has, then *function
 * is the method that it belongs to. */
static size_t find(const clr_info *info, const snapshot *s, size_t first, uintptr_t address,
                   FunctionID *function)
{
    size_t found = frame_with(s, first, address);

    *function = found == s->count ? function_around(info, address) : 0;
    return found;
}

/* Whether `function`, to which a return address leads, is the one that frame `at` names: then the
 * address is in a handler of its. Where a method has called itself nothing is said: the old frame
 * of one that was replaced while it ran leaves an address of it behind. */
static bool is_in_handler(const clr_info *info, const snapshot *s, size_t at, FunctionID function)
{
    return function == function_around(info, s->addresses[at]) &&
           (at == 0 || function != function_around(info, s->addresses[at - 1]));
}

/* Whether the program made the method at run time: the runtime's walk leaves it out. So it does
 * with its own stubs, which nobody misses. */
static bool is_made(const clr_info *info, FunctionID function)
{
    static const WCHAR STUB[] = {'I', 'L', '_', 'S', 'T', 'U', 'B'};
    WCHAR name[sizeof STUB / sizeof *STUB + 1] = {0};
    ModuleID module = 0;
    const uint8_t *signature = NULL;
    uint32_t size = 0;
    uint32_t length = 0;
    BOOL dynamic = 0;

    if (clr_info_is_function_dynamic(info, function, &dynamic) != S_OK || !dynamic)
        return false;
    clr_info_get_dynamic_function_info(info, function, &module, &signature, &size,
                                       sizeof name / sizeof *name, &length, name);
    return memcmp(name, STUB, sizeof STUB) != 0;
}

bool exception_is_signal_return(const uint8_t code[EXCEPTION_SIGNAL_RETURN_BYTES])
{
#if defined(__x86_64__)
    static const uint8_t RETURN[EXCEPTION_SIGNAL_RETURN_BYTES] = {0x48, 0xc7, 0xc0, 0x0f, 0,
                                                                  0,    0,    0x0f, 0x05};

    return memcmp(code, RETURN, sizeof RETURN) == 0;
#else
    (void)code;
    return false;
#endif
}

/* The place where a signal came in, when that is what the frame returns to: 0 when not. The kernel
 * has put the registers behind the return address. */
static uintptr_t interrupted_at(uintptr_t frame, uintptr_t top, uintptr_t address)
{
#if defined(__x86_64__)
    const ucontext_t *context = (const ucontext_t *)(frame + 2 * sizeof frame);

    if (top - frame > 2 * sizeof frame + sizeof *context &&
        exception_is_signal_return((const uint8_t *)address))
        return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#else
    (void)frame;
    (void)top;
    (void)address;
#endif
    return 0;
}

static void insert(snapshot *s, size_t at, uintptr_t address)
{
    if (s->count == s->capacity)
        s->cut = true;
    else
        s->count++;
    memmove(&s->addresses[at + 1], &s->addresses[at], (s->count - at - 1) * sizeof *s->addresses);
    s->addresses[at] = address;
}

bool exception_correct_stack(const clr_info *info, snapshot *s, uintptr_t top, exception_made *made)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    bool leaf_is_call = exception_follows_call(s->addresses[0]);
    size_t at = 0; /* the first frame not met yet */

    for (int strangers = 0; at < s->count && strangers < MAXIMUM_NATIVE_FRAMES;) {
        FunctionID function;
        uintptr_t link[2];
        uintptr_t address;
        size_t found;

        if ((frame & 7) != 0 || frame >= top || top - frame < sizeof link)
            break;
        memcpy(link, (const void *)frame, sizeof link);
        address = link[1];
        found = find(info, s, at, address, &function);
        if (found == s->count && function == 0 &&
            (address = interrupted_at(frame, top, link[1])) != 0)
            found = find(info, s, at, address, &function);
        if (found < s->count) {
            at = found + 1;
        } else if (function != 0 && is_in_handler(info, s, at, function)) {
            leaf_is_call |= at == 0;
            s->addresses[at++] = address;
        } else if (function != 0 && is_made(info, function)) {
            insert(s, at, address);
            if (made->count < EXCEPTION_MADE) {
                made->frames[made->count] = at;
                made->functions[made->count++] = function;
            }
            if (at++ == 0)
                leaf_is_call = exception_follows_call(address);
        } else {
            strangers++;
        }
        if (link[0] <= frame)
            break;
        frame = link[0];
    }
    return leaf_is_call;
}

/* Field 28 of /proc/self/stat. */
__attribute__((cold)) uintptr_t exception_main_stack_top(void)
{
    buffer text = BUFFER_EMPTY;
    const char *p = NULL;
    uintptr_t top = 0;

    if (os_read_file("/proc/self/stat", 4096, &text, NULL) == 0)
        p = strrchr(buffer_text(&text), ')');
    for (int field = 2; p != NULL && field < 28; field++) {
        p = strchr(p, ' ');
        if (p != NULL)
            p++;
    }
    for (; p != NULL && *p >= '0' && *p <= '9'; p++)
        top = top * 10 + (uintptr_t)(*p - '0');
    buffer_free(&text);
    return top;
}

/* One section behind the code: whether it has a clause that catches. */
static bool section_catches(reader *r, bool *more)
{
    size_t start = reader_offset(r);
    uint8_t kind = reader_u8(r);
    size_t size = reader_u8(r);
    bool fat = (kind & SECTION_FAT) != 0;
    bool catches = false;

    size |= (size_t)reader_u16(r) << 8;
    if (!fat)
        size &= 0xff;
    *more = (kind & SECTION_MORE) != 0;
    for (size_t at = 4; (kind & SECTION_CLAUSES) != 0 && !catches && !reader_failed(r) &&
                        at + (fat ? FAT_CLAUSE : SMALL_CLAUSE) <= size;
         at += fat ? FAT_CLAUSE : SMALL_CLAUSE) {
        uint32_t flags = fat ? reader_u32(r) : reader_u16(r);

        catches = flags == CLAUSE_CATCH || flags == CLAUSE_FILTER;
        reader_skip(r, (fat ? FAT_CLAUSE - 4 : SMALL_CLAUSE - 2));
    }
    if (!catches && reader_offset(r) < start + size)
        reader_skip(r, start + size - reader_offset(r));
    return catches;
}

bool exception_may_be_caught_in(const clr_info *info, FunctionID function)
{
    ModuleID module = 0;
    mdMethodDef token = 0;
    const uint8_t *body = NULL;
    uint32_t size = 0;
    bool more = true;
    reader r;

    if (clr_info_get_function_info2(info, function, 0, NULL, &module, &token, 0, NULL, NULL) !=
            S_OK ||
        clr_info_get_il_function_body(info, module, token, &body, &size) != S_OK || body == NULL)
        return true;
    r = reader_of(body, size);
    if ((body[0] & BODY_FORMAT) != BODY_FAT)
        return false;
    more = (reader_u16(&r) & BODY_MORE_SECTIONS) != 0;
    if (!more)
        return false;
    reader_u16(&r);                                         /* stack */
    reader_skip(&r, (reader_u32(&r) + 4 + 3) & ~(size_t)3); /* code, behind the locals' token */
    while (more && !reader_failed(&r)) {
        if (section_catches(&r, &more))
            return true;
        if (more)
            reader_skip(&r, (4 - reader_offset(&r) % 4) % 4);
    }
    return reader_failed(&r);
}
