/*
 * control: the words that the tool and the agent exchange (docs/agent-protocol.md).
 *
 * Messages are chunks of the recording's format with kinds from 0x8000 up, so that commands,
 * answers and recorded data share one stream and one parser. HELLO and WELCOME keep their first
 * fields in every version, so that two sides of different versions can say so to each other.
 *
 * Every received byte is hostile. No state, no OS calls, no memory of its own.
 */
#ifndef CLARINET_CONTROL_CONTROL_H
#define CLARINET_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/reader.h"
#include "catalogue/catalogue.h"

/* docs/agent-protocol.md says what each number brought. A test builds an agent of an older one. */
#ifndef CLARINET_PROTOCOL
#define CLARINET_PROTOCOL 2
#endif

enum {
    CONTROL_PROTOCOL = CLARINET_PROTOCOL,
    CONTROL_TOKEN_SIZE = 32,
    CONTROL_MOST_SESSIONS = 32, /* that one agent serves at once */
    CONTROL_VERSION_SIZE = 32,
    CONTROL_MAXIMUM_COMMAND = 256 << 10, /* bytes of one message to the agent */
};

/* The CLSIDs under which the library answers: beside another profiler, in the main place, or as the
 * counterweight, which does nothing (agent/counterweight.h). */
#define CONTROL_CLSID_BESIDE        "{C1A21E70-4E3B-4B7D-9F52-0D5B6C2A7E11}"
#define CONTROL_CLSID_MAIN          "{C1A21E70-4E3B-4B7D-9F52-0D5B6C2A7E12}"
#define CONTROL_CLSID_COUNTERWEIGHT "{C1A21E70-4E3B-4B7D-9F52-0D5B6C2A7E13}"

/* Names in the agent's private folder. */
#define CONTROL_SOCKET_NAME "control"
#define CONTROL_TOKEN_NAME  "token"
/* Environment of a program that the tool starts. */
#define CONTROL_VARIABLE_CONNECT "CLARINET_CONNECT" /* the tool's socket */
#define CONTROL_VARIABLE_TOKEN   "CLARINET_TOKEN"   /* 64 hexadecimal digits */
#define CONTROL_VARIABLE_SDK     "CLARINET_SDK"     /* 1 = the .NET SDK's own processes too */
#define CONTROL_VARIABLE_MEMORY  "CLARINET_MEMORY"  /* cap of the agent's memory, as 64M */

typedef enum {
    /* tool to agent */
    CONTROL_HELLO = 0x8001,
    CONTROL_START = 0x8002,
    CONTROL_STOP = 0x8003,
    CONTROL_FLUSH = 0x8004,
    CONTROL_PING = 0x8005,
    CONTROL_STATUS = 0x8006,
    CONTROL_GOODBYE = 0x8007,
    /* agent to tool */
    CONTROL_ANNOUNCE = 0x8080, /* first word of an agent that connects to the tool */
    CONTROL_WELCOME = 0x8081,
    CONTROL_STARTED = 0x8082,
    CONTROL_STOPPED = 0x8083,
    CONTROL_FLUSHED = 0x8084,
    CONTROL_PONG = 0x8085,
    CONTROL_STATE = 0x8086,
    CONTROL_REFUSED = 0x80ff,
} control_kind;

typedef struct {
    uint32_t protocol;
    uint8_t token[CONTROL_TOKEN_SIZE];
    char version[CONTROL_VERSION_SIZE]; /* of the program that says hello */
} control_hello;

enum {
    CONTROL_BY_START = 1,
    CONTROL_IN_MAIN_PLACE = 2,
    CONTROL_STAYS = 4,
    CONTROL_HEARS_NOTHING = 8, /* the runtime calls it only when a counterweight is attached too */
};

typedef struct {
    uint32_t protocol;
    char version[CONTROL_VERSION_SIZE]; /* of the agent */
    uint64_t process_id;                /* as the target sees itself */
    uint64_t sessions;                  /* others that the agent serves now */
    uint64_t flags;                     /* CONTROL_BY_START, … */
} control_welcome;

typedef struct {
    uint64_t rows;      /* sent to this session */
    uint64_t lost;      /* of this session, all reasons */
    uint64_t memory;    /* bytes the agent has mapped */
    uint64_t cpu_ns;    /* of the agent's own thread */
    uint64_t sessions;  /* all */
    uint64_t profilers; /* running for this session */
} control_state;

/* Whole messages, appended to `out`. ANNOUNCE has the form of HELLO. */
void control_put_hello(buffer *out, control_kind kind, const control_hello *hello);
void control_put_welcome(buffer *out, const control_welcome *welcome);
void control_put_start(buffer *out, const catalogue_selection *selection);
void control_put_state(buffer *out, const control_state *state);
void control_put_refused(buffer *out, control_kind refused, const error *e);
/* STOP, FLUSH, PING, STATUS, GOODBYE, STARTED, STOPPED, FLUSHED, PONG. */
void control_put_plain(buffer *out, control_kind kind);

/* Payloads of received messages; 0, or ERROR_CORRUPT (or what the catalogue says) with *e. */
int control_get_hello(reader payload, control_hello *hello, error *e);
int control_get_welcome(reader payload, control_welcome *welcome, error *e);
int control_get_start(reader payload, catalogue_selection *selection, error *e);
int control_get_state(reader payload, control_state *state, error *e);
/* Fills *e with what the other side refused; returns its code. */
int control_get_refused(reader payload, error *e);

/* Compares two tokens in a time that does not depend on where they differ. */
bool control_token_equal(const uint8_t *a, const uint8_t *b);
/* 64 digits and a zero. */
void control_format_token(const uint8_t *token, char text[2 * CONTROL_TOKEN_SIZE + 1]);
bool control_parse_token(const char *text, uint8_t *token);

#endif
