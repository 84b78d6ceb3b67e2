/* pdb: see pdb.h. The format is the portable PDB specification's (version 1.0). */
#include "symbols/pdb.h"

#include <string.h>

#include "base/reader.h"
#include "base/text.h"
#include "cil/compressed.h"

enum { METHOD_DOCUMENT = 0, METHOD_POINTS = 1, DOCUMENT_NAME = 0 };
enum { STATE_MACHINE_MOVE_NEXT = 0, STATE_MACHINE_KICKOFF = 1 };
enum { CUSTOM_PARENT = 0, CUSTOM_KIND = 1, CUSTOM_VALUE = 2 };
enum { METHOD_TABLE = 0x06000000, NAME_PARTS = 256 };

int pdb_open(pdb *p, const void *bytes, size_t length, error *e)
{
    int code = metadata_open(&p->tables, bytes, length, e);

    if (code != 0)
        return code;
    if (p->tables.pdb.data == NULL || p->tables.pdb.length < PDB_ID)
        return error_set(e, ERROR_CORRUPT, "no portable PDB: the stream #Pdb is missing");
    memcpy(p->id, p->tables.pdb.data, PDB_ID);
    return 0;
}

bool pdb_points_of(const pdb *p, uint32_t token, pdb_points *out)
{
    uint32_t row = token & 0xffffff;
    metadata_span blob;
    reader r;

    memset(out, 0, sizeof *out);
    out->p = p;
    if ((token & 0xff000000) != METHOD_TABLE || row == 0 ||
        row > metadata_rows(&p->tables, METADATA_PDB_METHOD))
        return false;
    blob = metadata_cell_blob(&p->tables, METADATA_PDB_METHOD, row, METHOD_POINTS);
    if (blob.data == NULL || blob.length == 0)
        return false;
    r = reader_of(blob.data, blob.length);
    cil_read_compressed(&r); /* the signature of the locals */
    out->point.document = metadata_cell(&p->tables, METADATA_PDB_METHOD, row, METHOD_DOCUMENT);
    if (out->point.document == 0)
        out->point.document = cil_read_compressed(&r);
    out->position = r.position;
    out->end = r.end;
    return !reader_failed(&r);
}

/* Lines and columns of one point; both spans zero means hidden. */
static void read_place(pdb_points *points, reader *r)
{
    uint32_t lines = cil_read_compressed(r);
    int64_t columns =
        lines == 0 ? (int64_t)cil_read_compressed(r) : (int64_t)cil_read_compressed_signed(r);
    pdb_point *point = &points->point;

    point->line = point->column = point->end_line = point->end_column = 0;
    if (lines == 0 && columns == 0)
        return;
    if (!points->has_line) {
        points->last_line = cil_read_compressed(r);
        points->last_column = cil_read_compressed(r);
        points->has_line = true;
    } else {
        points->last_line += (uint32_t)cil_read_compressed_signed(r);
        points->last_column += (uint32_t)cil_read_compressed_signed(r);
    }
    point->line = points->last_line;
    point->column = points->last_column;
    point->end_line = point->line + lines;
    point->end_column = (uint32_t)(point->column + columns);
}

bool pdb_points_next(pdb_points *points)
{
    reader r = reader_of(points->position, (size_t)(points->end - points->position));

    while (!points->failed && !reader_at_end(&r)) {
        uint32_t step = cil_read_compressed(&r);

        if (step == 0 && points->has_point) { /* the document changes */
            points->point.document = cil_read_compressed(&r);
            continue;
        }
        points->point.il_offset += step;
        points->has_point = true;
        read_place(points, &r);
        if (reader_failed(&r))
            break;
        points->position = r.position;
        return true;
    }
    points->failed = true;
    return false;
}

bool pdb_find_line(const pdb *p, uint32_t token, uint32_t il_offset, pdb_point *out)
{
    pdb_points points;
    bool found = false;

    if (!pdb_points_of(p, token, &points))
        return false;
    while (pdb_points_next(&points)) {
        if (found && points.point.il_offset > il_offset)
            break;
        if (points.point.line != 0 && points.point.line != PDB_HIDDEN_LINE) {
            *out = points.point;
            found = true;
        }
    }
    return found;
}

void pdb_append_document(const pdb *p, uint32_t document, buffer *out)
{
    metadata_span name =
        metadata_cell_blob(&p->tables, METADATA_PDB_DOCUMENT, document, DOCUMENT_NAME);
    reader r = reader_of(name.data, name.length);
    uint8_t separator = reader_u8(&r);

    for (unsigned part = 0; part < NAME_PARTS && !reader_at_end(&r); part++) {
        uint32_t index = cil_read_compressed(&r);
        metadata_span text;

        if (reader_failed(&r))
            return;
        if (part > 0 && separator != 0)
            buffer_append_char(out, (char)separator);
        text = metadata_blob(&p->tables, index);
        text_append_cleaned(out, (const char *)text.data, text.length);
    }
}

bool pdb_find_await(const pdb *p, uint32_t token, uint64_t number, uint32_t *il_offset)
{
    /* what a compiler tells a debugger about stepping through an async method */
    static const uint8_t STEPPING[16] = {0xc5, 0x2a, 0xfd, 0x54, 0x25, 0xe9, 0x1a, 0x40,
                                         0x9c, 0x2a, 0xf9, 0x4f, 0x17, 0x10, 0x72, 0xf8};
    uint32_t rows = metadata_rows(&p->tables, METADATA_PDB_CUSTOM_INFO);
    uint32_t owner, row;
    metadata_span blob = {0};
    reader r;

    if (!metadata_code(METADATA_PDB_CUSTOM_INFO, CUSTOM_PARENT, token, &owner))
        return false;
    row = metadata_find(&p->tables, METADATA_PDB_CUSTOM_INFO, CUSTOM_PARENT, owner);
    for (; row != 0 && row <= rows && blob.data == NULL; row++) {
        metadata_span kind;

        if (metadata_cell(&p->tables, METADATA_PDB_CUSTOM_INFO, row, CUSTOM_PARENT) != owner)
            break;
        kind = metadata_guid(&p->tables,
                             metadata_cell(&p->tables, METADATA_PDB_CUSTOM_INFO, row, CUSTOM_KIND));
        if (kind.data != NULL && memcmp(kind.data, STEPPING, sizeof STEPPING) == 0)
            blob = metadata_cell_blob(&p->tables, METADATA_PDB_CUSTOM_INFO, row, CUSTOM_VALUE);
    }
    if (blob.data == NULL)
        return false;
    r = reader_of(blob.data, blob.length);
    reader_u32(&r); /* the handler of an async void method */
    do {
        *il_offset = reader_u32(&r);
        reader_u32(&r); /* where it goes on */
        cil_read_compressed(&r);
    } while (number-- > 0 && !reader_failed(&r));
    return !reader_failed(&r);
}

uint32_t pdb_find_kickoff(const pdb *p, uint32_t token)
{
    uint32_t row;

    if ((token & 0xff000000) != METHOD_TABLE)
        return 0;
    row = metadata_find(&p->tables, METADATA_PDB_STATE_MACHINE, STATE_MACHINE_MOVE_NEXT,
                        token & 0xffffff);
    if (row == 0)
        return 0;
    row = metadata_cell(&p->tables, METADATA_PDB_STATE_MACHINE, row, STATE_MACHINE_KICKOFF);
    return row == 0 ? 0 : METHOD_TABLE | row;
}

uint32_t pdb_find_move_next(const pdb *p, uint32_t token)
{
    uint32_t rows = metadata_rows(&p->tables, METADATA_PDB_STATE_MACHINE);

    for (uint32_t row = 1; row <= rows && (token & 0xff000000) == METHOD_TABLE; row++) {
        if (metadata_cell(&p->tables, METADATA_PDB_STATE_MACHINE, row, STATE_MACHINE_KICKOFF) ==
            (token & 0xffffff))
            return METHOD_TABLE | metadata_cell(&p->tables, METADATA_PDB_STATE_MACHINE, row,
                                                STATE_MACHINE_MOVE_NEXT);
    }
    return 0;
}
