/*
 * metadata: ECMA-335 metadata (partition II.22 to II.24) of an assembly, or of a portable PDB: the
 * heaps, and every cell of every table by table, row and column. Portable, no OS calls, nothing
 * copied: the caller keeps the bytes alive. Every byte is treated as hostile: a wrong index gives
 * an empty answer (0, "", no data), never a read outside. Any thread once opened.
 *
 * Rows count from 1, as in tokens. token = table << 24 | row.
 */
#ifndef CLARINET_METADATA_METADATA_H
#define CLARINET_METADATA_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* X(NAME, number, columns). A letter per column: 2 u16, 4 u32, s string, g guid, b blob,
 * t<xx> row of table xx (hex), c<letter> coded index (see CODED in metadata.c). */
#define METADATA_TABLE_LIST(X)                                                                     \
    X(MODULE, 0x00, "2 s g g g")                                                                   \
    X(TYPE_REF, 0x01, "cr s s")                                                                    \
    X(TYPE_DEF, 0x02, "4 s s cd t04 t06")                                                          \
    X(FIELD_POINTER, 0x03, "t04")                                                                  \
    X(FIELD, 0x04, "2 s b")                                                                        \
    X(METHOD_POINTER, 0x05, "t06")                                                                 \
    X(METHOD_DEF, 0x06, "4 2 2 s b t08")                                                           \
    X(PARAMETER_POINTER, 0x07, "t08")                                                              \
    X(PARAMETER, 0x08, "2 2 s")                                                                    \
    X(INTERFACE_IMPL, 0x09, "t02 cd")                                                              \
    X(MEMBER_REF, 0x0A, "cp s b")                                                                  \
    X(CONSTANT, 0x0B, "2 cc b")                                                                    \
    X(CUSTOM_ATTRIBUTE, 0x0C, "ca ct b")                                                           \
    X(FIELD_MARSHAL, 0x0D, "cf b")                                                                 \
    X(DECL_SECURITY, 0x0E, "2 cs b")                                                               \
    X(CLASS_LAYOUT, 0x0F, "2 4 t02")                                                               \
    X(FIELD_LAYOUT, 0x10, "4 t04")                                                                 \
    X(STANDALONE_SIGNATURE, 0x11, "b")                                                             \
    X(EVENT_MAP, 0x12, "t02 t14")                                                                  \
    X(EVENT_POINTER, 0x13, "t14")                                                                  \
    X(EVENT, 0x14, "2 s cd")                                                                       \
    X(PROPERTY_MAP, 0x15, "t02 t17")                                                               \
    X(PROPERTY_POINTER, 0x16, "t17")                                                               \
    X(PROPERTY, 0x17, "2 s b")                                                                     \
    X(METHOD_SEMANTICS, 0x18, "2 t06 ce")                                                          \
    X(METHOD_IMPL, 0x19, "t02 cm cm")                                                              \
    X(MODULE_REF, 0x1A, "s")                                                                       \
    X(TYPE_SPEC, 0x1B, "b")                                                                        \
    X(IMPL_MAP, 0x1C, "2 ch s t1A")                                                                \
    X(FIELD_RVA, 0x1D, "4 t04")                                                                    \
    X(EDIT_LOG, 0x1E, "4 4")                                                                       \
    X(EDIT_MAP, 0x1F, "4")                                                                         \
    X(ASSEMBLY, 0x20, "4 2 2 2 2 4 b s s")                                                         \
    X(ASSEMBLY_PROCESSOR, 0x21, "4")                                                               \
    X(ASSEMBLY_OS, 0x22, "4 4 4")                                                                  \
    X(ASSEMBLY_REF, 0x23, "2 2 2 2 4 b s s b")                                                     \
    X(ASSEMBLY_REF_PROCESSOR, 0x24, "4 t23")                                                       \
    X(ASSEMBLY_REF_OS, 0x25, "4 4 4 t23")                                                          \
    X(FILE, 0x26, "4 s b")                                                                         \
    X(EXPORTED_TYPE, 0x27, "4 4 s s ci")                                                           \
    X(MANIFEST_RESOURCE, 0x28, "4 4 s ci")                                                         \
    X(NESTED_CLASS, 0x29, "t02 t02")                                                               \
    X(GENERIC_PARAMETER, 0x2A, "2 2 cg s")                                                         \
    X(METHOD_SPEC, 0x2B, "cm b")                                                                   \
    X(GENERIC_CONSTRAINT, 0x2C, "t2A cd")                                                          \
    X(PDB_DOCUMENT, 0x30, "b g b g")                                                               \
    X(PDB_METHOD, 0x31, "t30 b")                                                                   \
    X(PDB_LOCAL_SCOPE, 0x32, "t06 t35 t33 t34 4 4")                                                \
    X(PDB_LOCAL_VARIABLE, 0x33, "2 2 s")                                                           \
    X(PDB_LOCAL_CONSTANT, 0x34, "s b")                                                             \
    X(PDB_IMPORT_SCOPE, 0x35, "t35 b")                                                             \
    X(PDB_STATE_MACHINE, 0x36, "t06 t06")                                                          \
    X(PDB_CUSTOM_INFO, 0x37, "cx g b")

typedef enum {
#define X(name, number, columns) METADATA_##name = number,
    METADATA_TABLE_LIST(X)
#undef X
        METADATA_TABLE_LIMIT = 64
} metadata_table;

/* Columns of the tables that are read most; the rest by their place in the list above. */
enum {
    METADATA_TYPE_REF_SCOPE = 0,
    METADATA_TYPE_REF_NAME = 1,
    METADATA_TYPE_REF_NAMESPACE = 2,
    METADATA_TYPE_DEF_FLAGS = 0,
    METADATA_TYPE_DEF_NAME = 1,
    METADATA_TYPE_DEF_NAMESPACE = 2,
    METADATA_TYPE_DEF_EXTENDS = 3,
    METADATA_TYPE_DEF_FIELDS = 4,
    METADATA_TYPE_DEF_METHODS = 5,
    METADATA_FIELD_FLAGS = 0,
    METADATA_FIELD_NAME = 1,
    METADATA_FIELD_SIGNATURE = 2,
    METADATA_METHOD_RVA = 0,
    METADATA_METHOD_IMPL_FLAGS = 1,
    METADATA_METHOD_FLAGS = 2,
    METADATA_METHOD_NAME = 3,
    METADATA_METHOD_SIGNATURE = 4,
    METADATA_METHOD_PARAMETERS = 5,
    METADATA_PARAMETER_FLAGS = 0,
    METADATA_PARAMETER_SEQUENCE = 1,
    METADATA_PARAMETER_NAME = 2,
    METADATA_MEMBER_REF_PARENT = 0,
    METADATA_MEMBER_REF_NAME = 1,
    METADATA_MEMBER_REF_SIGNATURE = 2,
    METADATA_ATTRIBUTE_PARENT = 0,
    METADATA_ATTRIBUTE_TYPE = 1,
    METADATA_ATTRIBUTE_VALUE = 2,
    METADATA_GENERIC_OWNER = 2,
    METADATA_GENERIC_NAME = 3,
    METADATA_NESTED_INNER = 0,
    METADATA_NESTED_OUTER = 1,
    METADATA_ASSEMBLY_NAME = 7,
    METADATA_ASSEMBLY_REF_NAME = 6,
    METADATA_MODULE_NAME = 1,
    METADATA_MODULE_MVID = 2
};

typedef struct {
    const uint8_t *data; /* NULL = none */
    size_t length;
} metadata_span;

typedef struct {
    uint32_t rows;
    uint32_t row_size;
    const uint8_t *data;
    uint8_t column_count;
    uint8_t column_offset[9];
    uint8_t column_size[9]; /* 2 or 4 */
} metadata_table_layout;

typedef struct {
    metadata_span strings, user_strings, blobs, guids;
    metadata_span pdb; /* the #Pdb stream of a portable PDB: 20 bytes of id first */
    char version[64];  /* the version text of the root */
    uint64_t sorted;   /* bit per table */
    metadata_table_layout tables[METADATA_TABLE_LIMIT];
} metadata;

/* Reads the root and lays the tables out. ERROR_CORRUPT says what is wrong. */
int metadata_open(metadata *m, const void *bytes, size_t length, error *e);

static inline uint32_t metadata_rows(const metadata *m, unsigned table)
{
    return m->tables[table & 63].rows;
}

/* The cell as it is stored: a number, a heap index, a row of another table, or a coded index. */
uint32_t metadata_cell(const metadata *m, unsigned table, uint32_t row, unsigned column);
/* A cell that is a table index or a coded index, as a token (0 = none or wrong). */
uint32_t metadata_token(const metadata *m, unsigned table, uint32_t row, unsigned column);
/* The coded index that names this token in that column, to search sorted tables; false if none. */
bool metadata_code(unsigned table, unsigned column, uint32_t token, uint32_t *coded);

/* Heap entries by index; strings are whole and closed by 0, or "". */
const char *metadata_string(const metadata *m, uint32_t index);
metadata_span metadata_blob(const metadata *m, uint32_t index);
metadata_span metadata_user_string(const metadata *m, uint32_t index); /* UTF-16 bytes, no tail */
metadata_span metadata_guid(const metadata *m, uint32_t index);        /* 16 bytes; from 1 */
/* The same through a cell. */
const char *metadata_cell_string(const metadata *m, unsigned table, uint32_t row, unsigned column);
metadata_span metadata_cell_blob(const metadata *m, unsigned table, uint32_t row, unsigned column);

/* First row in a sorted table whose cell is `value`, 0 if none; rows with it follow each other.
 * A table that is not marked sorted is searched from its start. */
uint32_t metadata_find(const metadata *m, unsigned table, unsigned column, uint32_t value);
/* [*first, *end): rows of the list that begins in this cell (fields or methods of a type,
 * parameters of a method): up to where the next row's list begins. */
void metadata_list(const metadata *m, unsigned table, uint32_t row, unsigned column,
                   uint32_t *first, uint32_t *end);
/* The row of `table` whose list in `column` holds `item`; 0 if none. */
uint32_t metadata_list_owner(const metadata *m, unsigned table, unsigned column, uint32_t item);

#endif
