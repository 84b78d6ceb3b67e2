/*
 * cil_types: the words of CIL: instructions and their kinds, places and clauses of a body, element
 * types of signatures. Shared by cil.h and signatures.h. Constant data; any thread.
 */
#ifndef CLARINET_CIL_TYPES_H
#define CLARINET_CIL_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "clarinet/cil_opcodes.h"

typedef enum {
    CIL_OPERAND_NONE,
    CIL_OPERAND_INT8,
    CIL_OPERAND_INT32,
    CIL_OPERAND_INT64,
    CIL_OPERAND_REAL32,
    CIL_OPERAND_REAL64,
    CIL_OPERAND_VARIABLE8, /* an argument's or a local's number */
    CIL_OPERAND_VARIABLE16,
    CIL_OPERAND_BRANCH8,
    CIL_OPERAND_BRANCH32,
    CIL_OPERAND_SWITCH,
    CIL_OPERAND_FIELD, /* from here on metadata tokens */
    CIL_OPERAND_METHOD,
    CIL_OPERAND_TYPE,
    CIL_OPERAND_TOKEN,
    CIL_OPERAND_STRING,
    CIL_OPERAND_SIGNATURE
} cil_operand_kind;

typedef enum {
    CIL_FLOW_NEXT,
    CIL_FLOW_CALL,
    CIL_FLOW_JUMP, /* br, leave: never the next instruction */
    CIL_FLOW_FORK, /* conditional branches and switch */
    CIL_FLOW_END,  /* ret, jmp, endfinally, endfilter */
    CIL_FLOW_THROW,
    CIL_FLOW_PREFIX /* belongs to the next instruction */
} cil_flow;

typedef enum {
#define X(identifier, code, text, operand, pops, pushes, flow) identifier = code,
    CIL_OPCODE_LIST(X)
#undef X
    /* Not an instruction: a place that branches and clauses can name. Takes no bytes. */
    CIL_LABEL = 0x11F
} cil_opcode;

/* The name of an instruction in a body: never changes while the body lives. */
typedef uint32_t cil_at;

enum { CIL_END = 0 }; /* the place after the last instruction */

/* Offset of an instruction that was not in the original. An enumerator must fit an int. */
#define CIL_NEW 0xFFFFFFFFu

/* Change the operand as you like; opcode and order only through functions. */
typedef struct {
    uint16_t opcode;
    uint32_t offset;       /* in the original code, or CIL_NEW */
    uint32_t placed;       /* in the encoded code: set by cil_encode */
    cil_at next, previous; /* in the order of the code */
    union {
        int64_t number; /* constants, argument and local numbers */
        uint64_t bits;  /* of a real */
        uint32_t token;
        cil_at target;
        struct {
            uint32_t first, count; /* in the body's `cases` */
        } cases;
    } operand;
} cil_instruction;

enum { CIL_CATCH = 0, CIL_FILTER = 1, CIL_FINALLY = 2, CIL_FAULT = 4 };

typedef struct {
    uint32_t kind; /* CIL_CATCH… */
    cil_at try_begin, try_end;
    cil_at handler_begin, handler_end; /* ends are the first instruction after */
    cil_at filter_begin;               /* CIL_FILTER: up to handler_begin */
    uint32_t token;                    /* CIL_CATCH: the type; CIL_FILTER: unused */
} cil_clause;

enum {
    CIL_ENCODE_SHORTEST = 1, /* the shortest form of branches, constants, arguments and locals */
    CIL_ENCODE_FAT = 2       /* fat header and fat clauses in any case */
};

/* Where an instruction of the original went. */
typedef struct {
    uint32_t old_offset, new_offset;
} cil_map_entry;

/* Putting a whole body into a try with one way out. */
typedef struct {
    uint32_t handler;      /* CIL_FAULT, CIL_FINALLY (ends in endfinally) or CIL_CATCH (rethrow) */
    uint32_t catch_token;  /* CIL_CATCH: the type */
    bool has_result;       /* the method returns a value… */
    uint32_t result_local; /* …through this local */
    bool drop_tail_calls;  /* `tail.` becomes two nops; otherwise such a method is refused */
} cil_wrap_options;

typedef struct {
    cil_at enter;        /* first instruction of the try */
    cil_at failed;       /* the handler's last instruction */
    cil_at leave;        /* in the epilogue */
    uint32_t clause;     /* index of the new clause */
    uint32_t returns;    /* how many ret there were */
    uint32_t tail_calls; /* how many `tail.` were dropped */
} cil_wrap;

typedef enum {
    CIL_TYPE_VOID = 0x01,
    CIL_TYPE_BOOLEAN = 0x02,
    CIL_TYPE_CHAR = 0x03,
    CIL_TYPE_I1 = 0x04,
    CIL_TYPE_U1 = 0x05,
    CIL_TYPE_I2 = 0x06,
    CIL_TYPE_U2 = 0x07,
    CIL_TYPE_I4 = 0x08,
    CIL_TYPE_U4 = 0x09,
    CIL_TYPE_I8 = 0x0A,
    CIL_TYPE_U8 = 0x0B,
    CIL_TYPE_R4 = 0x0C,
    CIL_TYPE_R8 = 0x0D,
    CIL_TYPE_STRING = 0x0E,
    CIL_TYPE_POINTER = 0x0F,
    CIL_TYPE_BYREF = 0x10,
    CIL_TYPE_VALUETYPE = 0x11,
    CIL_TYPE_CLASS = 0x12,
    CIL_TYPE_VARIABLE = 0x13, /* !n, of the generic type */
    CIL_TYPE_ARRAY = 0x14,    /* with rank and bounds */
    CIL_TYPE_GENERIC = 0x15,  /* instance: the generic type, then its arguments */
    CIL_TYPE_TYPED_REFERENCE = 0x16,
    CIL_TYPE_INT_PTR = 0x18,
    CIL_TYPE_UINT_PTR = 0x19,
    CIL_TYPE_FUNCTION = 0x1B, /* pointer: its result, then its parameters */
    CIL_TYPE_OBJECT = 0x1C,
    CIL_TYPE_VECTOR = 0x1D,          /* T[] */
    CIL_TYPE_METHOD_VARIABLE = 0x1E, /* !!n */
    CIL_TYPE_REQUIRED = 0x1F,        /* modifiers: the token, then the type they modify */
    CIL_TYPE_OPTIONAL = 0x20,
    CIL_TYPE_INTERNAL = 0x21, /* only in memory of the runtime; refused */
    CIL_TYPE_SENTINEL = 0x41, /* before the extra arguments of a vararg call; no parameter */
    CIL_TYPE_PINNED = 0x45
} cil_element;

/* The first byte of a signature. */
enum {
    CIL_CONVENTION_MASK = 0x0F,
    CIL_CONVENTION_VARARG = 0x05,
    CIL_CONVENTION_FIELD = 0x06,
    CIL_CONVENTION_LOCALS = 0x07,
    CIL_CONVENTION_PROPERTY = 0x08,
    CIL_CONVENTION_UNMANAGED = 0x09,
    CIL_CONVENTION_METHOD_SPEC = 0x0A,
    CIL_CONVENTION_GENERIC = 0x10,
    CIL_CONVENTION_HAS_THIS = 0x20,
    CIL_CONVENTION_EXPLICIT_THIS = 0x40
};

typedef struct {
    uint8_t element;    /* cil_element */
    uint8_t convention; /* CIL_TYPE_FUNCTION */
    uint32_t token; /* CIL_TYPE_CLASS, VALUETYPE, REQUIRED, OPTIONAL; FUNCTION: its generic count */
    uint32_t number;     /* variables: n; arrays: rank; generic, function: count of parameters */
    uint32_t nodes;      /* of this type with all inside it, itself included */
    uint32_t begin, end; /* its bytes */
    uint32_t shape;      /* CIL_TYPE_ARRAY: where rank and bounds stand */
} cil_type;

#endif
