/*
 * check: following every path. See check.h.
 *
 * A place where paths can meet (branch target, region start) is a leader and remembers the stack
 * it is entered with. From each leader in the work list the code is followed to the next leader;
 * there the stacks are merged, and if that changed what the leader knew, it is followed again.
 * Kinds only ever become less exact, so this ends.
 */
#include "cil/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cil/effect.h"
#include "cil/region.h"
#include "cil/signature.h"

enum { STACK_LIMIT = 0xFFFF, LEADER = 1, QUEUED = 2, REACHED = 4 };

typedef struct {
    uint32_t depth;
    uint32_t kinds; /* where they start in `saved` */
} entry_stack;

struct cil_checker {
    cil_regions regions;
    uint8_t *marks;       /* per place: LEADER… */
    entry_stack *entries; /* per place, when REACHED and LEADER */
    cil_at *work;
    uint32_t capacity;
    uint32_t work_count;
    uint8_t *saved;
    uint32_t saved_count, saved_capacity;
    uint8_t *stack;
    uint32_t stack_capacity;
    cil_effect_method method;
    /* while one body is checked */
    const cil_body *body;
    cil_check_result *result;
    error *e;
};

cil_checker *cil_checker_create(void)
{
    return memory_allocate_array(1, sizeof(cil_checker));
}

void cil_checker_free(cil_checker *c)
{
    if (c == NULL)
        return;
    cil_regions_free(&c->regions);
    cil_effect_method_free(&c->method);
    memory_free(c->marks);
    memory_free(c->entries);
    memory_free(c->work);
    memory_free(c->saved);
    memory_free(c->stack);
    memory_free(c);
}

__attribute__((format(printf, 3, 4))) static int refuse(cil_checker *c, cil_at at,
                                                        const char *format, ...)
{
    const cil_instruction *i = cil_get(c->body, at);
    char reason[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    c->result->at = at;
    if (at == CIL_END)
        return error_set(c->e, ERROR_CORRUPT, "%s", reason);
    if (i->offset == CIL_NEW)
        return error_set(c->e, ERROR_CORRUPT, "added %s: %s", cil_opcode_of(i->opcode)->name,
                         reason);
    return error_set(c->e, ERROR_CORRUPT, "IL_%04X %s: %s", (unsigned)i->offset,
                     cil_opcode_of(i->opcode)->name, reason);
}

static int out_of_memory(cil_checker *c)
{
    return error_set(c->e, ERROR_MEMORY, "no memory to check a method body");
}

static bool make_room(cil_checker *c)
{
    uint32_t count = c->body->instruction_count;

    if (count > c->capacity) {
        memory_free(c->marks);
        memory_free(c->entries);
        memory_free(c->work);
        c->capacity = 0;
        c->marks = memory_allocate(count);
        c->entries = memory_allocate_array(count, sizeof *c->entries);
        c->work = memory_allocate_array(count, sizeof *c->work);
        if (c->marks == NULL || c->entries == NULL || c->work == NULL)
            return false;
        c->capacity = count;
    }
    /* An instruction puts at most one value more on the stack than it takes. */
    if (count + 4 > c->stack_capacity) {
        memory_free(c->stack);
        c->stack_capacity = 0;
        c->stack = memory_allocate(count + 4);
        if (c->stack == NULL)
            return false;
        c->stack_capacity = count + 4;
    }
    memset(c->marks, 0, count);
    c->work_count = 0;
    c->saved_count = 0;
    return true;
}

static void mark_leaders(cil_checker *c)
{
    const cil_body *body = c->body;

    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next) {
        const cil_instruction *i = cil_get(body, at);

        if (cil_opcode_is_branch(i->opcode))
            c->marks[i->operand.target] |= LEADER;
        else if (i->opcode == CIL_SWITCH)
            for (uint32_t n = 0; n < i->operand.cases.count; n++)
                c->marks[body->cases[i->operand.cases.first + n]] |= LEADER;
    }
    for (uint32_t n = 0; n < body->clause_count; n++) {
        c->marks[body->clauses[n].try_begin] |= LEADER;
        c->marks[body->clauses[n].handler_begin] |= LEADER;
        if (body->clauses[n].kind == CIL_FILTER)
            c->marks[body->clauses[n].filter_begin] |= LEADER;
    }
    c->marks[cil_first(body)] |= LEADER;
}

static void queue(cil_checker *c, cil_at at)
{
    if ((c->marks[at] & QUEUED) == 0) {
        c->marks[at] |= QUEUED;
        c->work[c->work_count++] = at;
    }
}

static int remember(cil_checker *c, cil_at at, uint32_t depth)
{
    if (c->saved_count + depth > c->saved_capacity) {
        uint32_t capacity = c->saved_capacity < 256 ? 256 : c->saved_capacity;
        uint8_t *saved;

        while (capacity < c->saved_count + depth)
            capacity *= 2;
        saved = memory_resize(c->saved, capacity);
        if (saved == NULL)
            return out_of_memory(c);
        c->saved = saved;
        c->saved_capacity = capacity;
    }
    if (depth != 0)
        memcpy(c->saved + c->saved_count, c->stack, depth);
    c->entries[at] = (entry_stack){depth, c->saved_count};
    c->saved_count += depth;
    c->marks[at] |= REACHED;
    queue(c, at);
    return 0;
}

/* The current stack, `depth` deep, arrives at leader `to`, coming from `from`. */
static int arrive(cil_checker *c, cil_at from, cil_at to, uint32_t depth)
{
    entry_stack *entry = &c->entries[to];
    bool changed = false;

    if ((c->marks[to] & REACHED) == 0)
        return remember(c, to, depth);
    if (entry->depth != depth)
        return refuse(c, from, "one path comes to %s with %u values on the stack, another with %u",
                      cil_opcode_of(cil_get(c->body, to)->opcode)->name, (unsigned)entry->depth,
                      (unsigned)depth);
    for (uint32_t n = 0; n < depth; n++) {
        uint8_t *kind = &c->saved[entry->kinds + n];
        uint8_t merged = cil_kind_merge(*kind, c->stack[n]);

        if (merged == CIL_KIND_CLASH)
            return refuse(c, from, "two paths meet with %s and %s on the stack",
                          cil_kind_name(*kind), cil_kind_name(c->stack[n]));
        changed |= merged != *kind;
        *kind = merged;
    }
    if (changed)
        queue(c, to);
    return 0;
}

/* A branch, or falling into the next instruction. */
static int go(cil_checker *c, cil_at from, cil_at to, uint32_t depth)
{
    if (to == CIL_END)
        return refuse(c, from, "the code runs past its end");
    if (!cil_region_may_branch(&c->regions, c->body, from, to))
        return refuse(c, from, "control goes into or out of a protected region");
    return arrive(c, from, to, depth);
}

static int leave(cil_checker *c, cil_at from, cil_at to)
{
    if (to == CIL_END)
        return refuse(c, from, "the code runs past its end");
    if (!cil_region_may_leave(&c->regions, c->body, from, to))
        return refuse(c, from, "it may not leave to there");
    return arrive(c, from, to, 0);
}

/* What instructions that end a region or the method need around them. */
static int check_place(cil_checker *c, cil_at at, uint32_t depth)
{
    uint32_t region = cil_region_of(&c->regions, at);
    unsigned kind = cil_region_kind(region);
    uint32_t clause = region == 0 ? 0 : c->body->clauses[cil_region_clause(region)].kind;

    switch (cil_get(c->body, at)->opcode) {
    case CIL_RET:
    case CIL_JMP:
        return kind == CIL_REGION_METHOD ? 0 : refuse(c, at, "it stands in a protected region");
    case CIL_ENDFINALLY:
        return kind == CIL_REGION_HANDLER && (clause == CIL_FINALLY || clause == CIL_FAULT)
                   ? 0
                   : refuse(c, at, "it does not stand in a finally or fault handler");
    case CIL_ENDFILTER:
        return kind == CIL_REGION_FILTER ? 0 : refuse(c, at, "it does not stand in a filter");
    case CIL_RETHROW:
        return cil_region_in_catch(&c->regions, c->body, at)
                   ? 0
                   : refuse(c, at, "it does not stand in a catch handler");
    case CIL_LOCALLOC:
        if (depth != 1)
            return refuse(c, at, "the stack must hold nothing but the size");
        return kind == CIL_REGION_FILTER || kind == CIL_REGION_HANDLER
                   ? refuse(c, at, "it stands in a handler")
                   : 0;
    default:
        return 0;
    }
}

static int check_prefix(cil_checker *c, cil_at at)
{
    cil_at next = cil_get(c->body, at)->next;

    if (next == CIL_END)
        return refuse(c, at, "a prefix stands at the end of the code");
    if (c->marks[next] & LEADER)
        return refuse(c, at, "a branch goes between a prefix and its instruction");
    return 0;
}

/* Follows control out of `at`. *done is set when the walk from this leader is over. */
static int follow(cil_checker *c, cil_at at, uint32_t depth, bool *done)
{
    const cil_instruction *i = cil_get(c->body, at);
    int result = 0;

    *done = true;
    switch (cil_opcode_of(i->opcode)->flow) {
    case CIL_FLOW_JUMP:
        if (i->opcode == CIL_LEAVE || i->opcode == CIL_LEAVE_S)
            return leave(c, at, i->operand.target);
        return go(c, at, i->operand.target, depth);
    case CIL_FLOW_END:
    case CIL_FLOW_THROW:
        return 0;
    case CIL_FLOW_FORK:
        if (i->opcode == CIL_SWITCH)
            for (uint32_t n = 0; n < i->operand.cases.count && result == 0; n++)
                result = go(c, at, c->body->cases[i->operand.cases.first + n], depth);
        else
            result = go(c, at, i->operand.target, depth);
        if (result != 0)
            return result;
        break;
    case CIL_FLOW_PREFIX:
        result = check_prefix(c, at);
        if (result != 0)
            return result;
        break;
    default:
        break;
    }
    if (i->next == CIL_END)
        return refuse(c, at, "the code runs past its end");
    if (c->marks[i->next] & LEADER)
        return go(c, at, i->next, depth);
    if (!cil_region_may_branch(&c->regions, c->body, at, i->next))
        return refuse(c, at, "control runs out of a protected region");
    *done = false;
    return 0;
}

static int walk(cil_checker *c, cil_at at)
{
    uint32_t depth = c->entries[at].depth;
    bool done = false;

    if (depth != 0)
        memcpy(c->stack, c->saved + c->entries[at].kinds, depth);
    while (!done) {
        const char *reason;
        int result = check_place(c, at, depth);

        if (result != 0)
            return result;
        c->marks[at] |= REACHED;
        reason =
            cil_effect_apply(&c->method, c->body, at, c->stack, &depth,
                             c->stack_capacity < STACK_LIMIT ? c->stack_capacity : STACK_LIMIT);
        if (reason != NULL)
            return refuse(c, at, "%s", reason);
        if (depth > c->result->max_stack)
            c->result->max_stack = depth;
        result = follow(c, at, depth, &done);
        if (result != 0)
            return result;
        at = cil_get(c->body, at)->next;
    }
    return 0;
}

/* Handlers are entered by the runtime, with the exception or with nothing. */
static int enter_handlers(cil_checker *c)
{
    int result = 0;

    for (uint32_t n = 0; n < c->body->clause_count && result == 0; n++) {
        const cil_clause *clause = &c->body->clauses[n];
        bool object = clause->kind == CIL_CATCH || clause->kind == CIL_FILTER;

        c->stack[0] = CIL_KIND_OBJECT;
        if (object && c->result->max_stack == 0)
            c->result->max_stack = 1;
        result = arrive(c, clause->handler_begin, clause->handler_begin, object ? 1 : 0);
        if (result == 0 && clause->kind == CIL_FILTER)
            result = arrive(c, clause->filter_begin, clause->filter_begin, 1);
    }
    return result;
}

static int check_try_entries(cil_checker *c)
{
    for (uint32_t n = 0; n < c->body->clause_count; n++) {
        cil_at at = c->body->clauses[n].try_begin;

        if (c->marks[at] & REACHED && c->entries[at].depth != 0)
            return refuse(c, at, "a try is entered with %u values on the stack",
                          (unsigned)c->entries[at].depth);
    }
    return 0;
}

/* Where control would go out of code that no path reaches. */
static int check_unreached_flow(cil_checker *c, cil_at at)
{
    const cil_instruction *i = cil_get(c->body, at);
    bool leaves = i->opcode == CIL_LEAVE || i->opcode == CIL_LEAVE_S;
    bool good = true;

    if (i->opcode == CIL_SWITCH) {
        for (uint32_t n = 0; n < i->operand.cases.count && good; n++)
            good = cil_region_may_branch(&c->regions, c->body, at,
                                         c->body->cases[i->operand.cases.first + n]);
    } else if (cil_opcode_is_branch(i->opcode)) {
        good = leaves ? cil_region_may_leave(&c->regions, c->body, at, i->operand.target)
                      : cil_region_may_branch(&c->regions, c->body, at, i->operand.target);
    }
    switch (cil_opcode_of(i->opcode)->flow) {
    case CIL_FLOW_JUMP:
    case CIL_FLOW_END:
    case CIL_FLOW_THROW:
        break;
    default:
        if (i->next == CIL_END)
            return refuse(c, at, "the code runs past its end");
        good = good && cil_region_may_branch(&c->regions, c->body, at, i->next);
    }
    return good ? 0 : refuse(c, at, "control goes into or out of a protected region");
}

/* The JIT cuts all code into blocks before it knows what is reached, and refuses a method for where
 * a block that never runs would go. Stacks do not matter there. */
static int check_unreached(cil_checker *c)
{
    int code = 0;

    for (cil_at at = cil_first(c->body); at != CIL_END && code == 0;
         at = cil_get(c->body, at)->next) {
        uint32_t opcode = cil_get(c->body, at)->opcode;

        if (c->marks[at] & REACHED)
            continue;
        if (opcode == CIL_RET || opcode == CIL_JMP || opcode == CIL_ENDFINALLY ||
            opcode == CIL_ENDFILTER)
            code = check_place(c, at, 0);
        if (code == 0)
            code = check_unreached_flow(c, at);
    }
    return code;
}

int cil_check(cil_checker *c, const cil_body *body, const cil_check_method *method,
              cil_check_result *result, error *e)
{
    uint32_t clause;
    const char *wrong;
    int code;

    memset(result, 0, sizeof *result);
    c->body = body;
    c->result = result;
    c->e = e;
    if (body->failed || !make_room(c))
        return out_of_memory(c);
    if (cil_first(body) == CIL_END)
        return refuse(c, CIL_END, "there is no code");
    code = cil_effect_method_read(&c->method, method, e);
    if (code != 0)
        return code;
    wrong = cil_regions_build(&c->regions, body, &clause);
    if (wrong != NULL)
        return refuse(c, CIL_END, "exception clause %u: %s", (unsigned)clause, wrong);
    mark_leaders(c);
    if (c->marks[CIL_END] & LEADER)
        return refuse(c, CIL_END, "a branch goes to the end of the code");
    code = remember(c, cil_first(body), 0);
    if (code == 0)
        code = enter_handlers(c);
    while (code == 0 && c->work_count > 0) {
        cil_at at = c->work[--c->work_count];

        c->marks[at] = (uint8_t)(c->marks[at] & ~QUEUED);
        code = walk(c, at);
    }
    if (code == 0)
        code = check_try_entries(c);
    return code == 0 ? check_unreached(c) : code;
}
