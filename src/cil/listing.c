/* listing: see listing.h. */
#include "cil/listing.h"

#include <float.h>
#include <string.h>

enum { STEP = 4, DEPTH_LIMIT = 64 };

static uint32_t offset_of(const cil_body *body, cil_at at, bool placed)
{
    const cil_instruction *i = cil_get(body, at);

    return placed ? i->placed : i->offset;
}

static void append_label(const cil_body *body, cil_at at, bool placed, buffer *out)
{
    uint32_t offset = offset_of(body, at, placed);

    if (offset == CIL_NEW)
        buffer_format(out, "new_%u", (unsigned)at);
    else
        buffer_format(out, "IL_%04X", (unsigned)offset);
}

/* Written so that it reads back the same. */
static void append_real(double value, bool single, buffer *out)
{
    if (value != value)
        buffer_append_text(out, "NaN");
    else if (value > DBL_MAX || value < -DBL_MAX)
        buffer_append_text(out, value < 0 ? "-Infinity" : "Infinity");
    else
        buffer_format(out, single ? "%.9g" : "%.17g", value);
}

static void append_operand(const cil_body *body, const cil_instruction *i,
                           const cil_listing *listing, buffer *out)
{
    const cil_opcode_info *info = cil_opcode_of(i->opcode);
    float single;
    double real;
    uint32_t bits;

    switch (info->operand) {
    case CIL_OPERAND_NONE:
        return;
    case CIL_OPERAND_REAL32:
        bits = (uint32_t)i->operand.bits;
        memcpy(&single, &bits, sizeof single);
        append_real((double)single, true, out);
        return;
    case CIL_OPERAND_REAL64:
        memcpy(&real, &i->operand.bits, sizeof real);
        append_real(real, false, out);
        return;
    case CIL_OPERAND_BRANCH8:
    case CIL_OPERAND_BRANCH32:
        append_label(body, i->operand.target, listing->placed, out);
        return;
    case CIL_OPERAND_SWITCH:
        buffer_append_char(out, '(');
        for (uint32_t n = 0; n < i->operand.cases.count; n++) {
            buffer_append_text(out, n == 0 ? "" : ", ");
            append_label(body, body->cases[i->operand.cases.first + n], listing->placed, out);
        }
        buffer_append_char(out, ')');
        return;
    default:
        break;
    }
    if (info->operand < CIL_OPERAND_FIELD)
        buffer_format(out, "%lld", (long long)i->operand.number);
    else if (listing->token != NULL)
        listing->token(listing->context, i->operand.token, out);
    else
        buffer_format(out, "%08X", (unsigned)i->operand.token);
}

void cil_list_instruction(const cil_body *body, cil_at at, const cil_listing *listing, buffer *out)
{
    const cil_instruction *i = cil_get(body, at);
    const cil_opcode_info *info = cil_opcode_of(i->opcode);

    buffer_append_text(out, info->name);
    if (info->operand != CIL_OPERAND_NONE) {
        size_t width = strlen(info->name);

        buffer_append_fill(out, ' ', width < 10 ? 11 - width : 1);
        append_operand(body, i, listing, out);
    }
}

static void line(const cil_listing *listing, unsigned depth, const char *text, buffer *out)
{
    unsigned shown = depth < DEPTH_LIMIT ? depth : DEPTH_LIMIT;

    buffer_append_fill(out, ' ', listing->indent + STEP * shown);
    buffer_append_text(out, text);
}

static bool same_try(const cil_clause *a, const cil_clause *b)
{
    return a->try_begin == b->try_begin && a->try_end == b->try_end;
}

/* The clause's try is already shown by an earlier clause of the same try. */
static bool is_further(const cil_body *body, uint32_t clause)
{
    for (uint32_t n = 0; n < clause; n++)
        if (same_try(&body->clauses[n], &body->clauses[clause]))
            return true;
    return false;
}

/* Blocks that end before `at`, innermost first; tells the new depth. */
static unsigned close_blocks(const cil_body *body, const cil_listing *listing, cil_at at,
                             unsigned depth, buffer *out)
{
    for (uint32_t n = 0; n < body->clause_count; n++) {
        const cil_clause *c = &body->clauses[n];
        bool filter_end = c->kind == CIL_FILTER && c->handler_begin == at;
        bool ends[3] = {c->try_end == at && !is_further(body, n), filter_end, c->handler_end == at};

        for (unsigned k = 0; k < 3; k++)
            if (ends[k])
                line(listing, depth > 0 ? --depth : 0, "}\n", out);
    }
    return depth;
}

static void open_handler(const cil_clause *c, const cil_listing *listing, unsigned depth,
                         buffer *out)
{
    static const char *const words[] = {"catch ", "{\n", "finally {\n", "", "fault {\n"};

    line(listing, depth, words[c->kind], out);
    if (c->kind != CIL_CATCH)
        return;
    if (listing->token != NULL)
        listing->token(listing->context, c->token, out);
    else
        buffer_format(out, "%08X", (unsigned)c->token);
    buffer_append_text(out, " {\n");
}

/* Blocks that begin at `at`, outermost first. */
static unsigned open_blocks(const cil_body *body, const cil_listing *listing, cil_at at,
                            unsigned depth, buffer *out)
{
    for (uint32_t n = body->clause_count; n-- > 0;) {
        const cil_clause *c = &body->clauses[n];

        if (c->handler_begin == at)
            open_handler(c, listing, depth++, out);
        if (c->kind == CIL_FILTER && c->filter_begin == at)
            line(listing, depth++, "filter {\n", out);
        if (c->try_begin == at && !is_further(body, n))
            line(listing, depth++, ".try {\n", out);
    }
    return depth;
}

static void note(const cil_listing *listing, unsigned depth, uint32_t offset, buffer *out)
{
    buffer text = BUFFER_EMPTY;

    listing->note(listing->context, offset, &text);
    if (text.length != 0) {
        line(listing, depth, "// ", out);
        buffer_append(out, text.data, text.length);
        buffer_append_char(out, '\n');
    }
    buffer_free(&text);
}

void cil_list(const cil_body *body, const cil_listing *listing, buffer *out)
{
    unsigned depth = 0;

    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next) {
        const cil_instruction *i = cil_get(body, at);

        depth = close_blocks(body, listing, at, depth, out);
        depth = open_blocks(body, listing, at, depth, out);
        if (i->opcode == CIL_LABEL)
            continue;
        if (listing->note != NULL && i->offset != CIL_NEW)
            note(listing, depth, i->offset, out);
        line(listing, depth, "", out);
        append_label(body, at, listing->placed, out);
        buffer_append_text(out, ": ");
        cil_list_instruction(body, at, listing, out);
        buffer_append_char(out, '\n');
    }
    close_blocks(body, listing, CIL_END, depth, out);
}
