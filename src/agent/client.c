/*
 * client: one connected tool: its commands, its answers, its end. Own thread only (client_connect:
 * also the thread that loads the agent, before the own one runs). Received bytes are hostile.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/sampling.h"
#include "base/memory.h"
#include "base/os.h"
#include "recording/decode.h"

static void obey(agent *a, client *c, const recording_chunk *command);

size_t client_count(const agent *a)
{
    size_t count = 0;

    for (size_t i = 0; i < AGENT_CLIENTS; i++)
        if (a->clients[i].state != CLIENT_FREE)
            count++;
    return count;
}

static client *take_slot(agent *a, int descriptor)
{
    for (size_t i = 0; i < AGENT_CLIENTS; i++) {
        client *c = &a->clients[i];

        if (c->state != CLIENT_FREE)
            continue;
        memset(c, 0, sizeof *c);
        c->state = CLIENT_GREETING;
        c->descriptor = descriptor;
        c->deadline_ns = os_monotonic_ns() + (uint64_t)AGENT_GRACE_MS * 1000000;
        output_init(&c->out, a, &a->names, os_monotonic_ns());
        return c;
    }
    close(descriptor);
    return NULL;
}

void client_open(agent *a, int descriptor)
{
    take_slot(a, descriptor);
}

client *client_connect(agent *a, const char *path, const uint8_t *token)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    control_hello announce = {.protocol = CONTROL_PROTOCOL, .version = CLARINET_VERSION};
    struct ucred peer;
    socklen_t length = sizeof peer;
    int descriptor;
    client *c;

    if (strlen(path) >= sizeof address.sun_path)
        return NULL;
    strcpy(address.sun_path, path);
    descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return NULL;
    /* a Unix socket connects at once or not at all, unless its queue is full */
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
        !endpoint_admits(peer.uid)) {
        close(descriptor);
        return NULL;
    }
    c = take_slot(a, descriptor);
    if (c == NULL)
        return NULL;
    memcpy(announce.token, token, sizeof announce.token);
    control_put_hello(&c->out.pending, CONTROL_ANNOUNCE, &announce);
    client_flush(a, c);
    return c->state == CLIENT_FREE ? NULL : c;
}

void client_close(agent *a, client *c)
{
    if (c->state == CLIENT_FREE)
        return;
    agent_stop_client(a, c);
    close(c->descriptor);
    memory_free(c->selection);
    buffer_free(&c->received);
    output_free(&c->out);
    memset(c, 0, sizeof *c);
}

/* Sends what is pending; a connection that is gone, or that has been told all, is closed. */
void client_flush(agent *a, client *c)
{
    if (output_send(&c->out, c->descriptor) != 0 ||
        (c->state == CLIENT_LEAVING && !output_has_pending(&c->out)))
        client_close(a, c);
}

static void leave(client *c)
{
    c->state = CLIENT_LEAVING;
    c->deadline_ns = os_monotonic_ns() + (uint64_t)AGENT_GRACE_MS * 1000000;
}

static void refuse(client *c, control_kind command, const error *e)
{
    control_put_refused(&c->out.pending, command, e);
}

void client_receive(agent *a, client *c)
{
    recording_chunk command;

    for (;;) {
        ssize_t n;

        if (c->received.length > CONTROL_MAXIMUM_COMMAND || !buffer_reserve(&c->received, 4096)) {
            client_close(a, c);
            return;
        }
        n = recv(c->descriptor, c->received.data + c->received.length, 4096, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (n <= 0) {
            client_close(a, c);
            return;
        }
        c->received.length += (size_t)n;
        c->received.data[c->received.length] = 0;
    }
    while (c->state != CLIENT_FREE && c->state != CLIENT_LEAVING) {
        recording_chunk_state state =
            recording_take_chunk(c->received.data, c->received.length, &command);

        if (state == RECORDING_CHUNK_SHORT && command.whole <= CONTROL_MAXIMUM_COMMAND)
            break;
        if (state != RECORDING_CHUNK_WHOLE) {
            client_close(a, c);
            return;
        }
        obey(a, c, &command);
        if (c->state == CLIENT_FREE)
            return;
        memmove(c->received.data, c->received.data + command.whole,
                c->received.length - command.whole);
        c->received.length -= command.whole;
    }
    client_flush(a, c);
}

static void greet(agent *a, client *c, const recording_chunk *command)
{
    control_hello hello;
    control_welcome welcome = {.protocol = CONTROL_PROTOCOL, .version = CLARINET_VERSION};
    error e;

    if (command->kind != CONTROL_HELLO ||
        control_get_hello(reader_of(command->payload, command->length), &hello, NULL) != 0 ||
        !control_token_equal(hello.token, a->endpoint.token)) {
        error_set(&e, ERROR_PERMISSION, "the agent in the process does not know this tool");
        error_advise(&e, "another user's clarinet may have loaded it; try again in a few seconds");
        refuse(c, CONTROL_HELLO, &e);
        leave(c);
        return;
    }
    counterweight_listen(a);
    welcome.process_id = (uint64_t)os_process_id();
    welcome.sessions = client_count(a) - 1;
    welcome.flags = (a->by_start ? CONTROL_BY_START : 0u) |
                    (a->in_main_place ? CONTROL_IN_MAIN_PLACE : 0u) |
                    (a->stays ? CONTROL_STAYS : 0u) |
                    (counterweight_is_missing(&a->counterweight) ? CONTROL_HEARS_NOTHING : 0u);
    control_put_welcome(&c->out.pending, &welcome);
    c->state = CLIENT_READY;
    if (hello.protocol != CONTROL_PROTOCOL)
        leave(c); /* the tool reads our version and says so */
}

static void start(agent *a, client *c, const recording_chunk *command)
{
    error e;

    error_clear(&e);
    if (c->state == CLIENT_RECORDING) {
        error_set(&e, ERROR_BUSY, "this session records already");
        refuse(c, CONTROL_START, &e);
        return;
    }
    if (c->selection == NULL)
        c->selection = memory_allocate_array(1, sizeof *c->selection);
    if (c->selection == NULL)
        error_set(&e, ERROR_MEMORY, "the agent has no memory left");
    else if (control_get_start(reader_of(command->payload, command->length), c->selection, &e) == 0)
        agent_start_client(a, c, &e);
    if (e.code != 0)
        refuse(c, CONTROL_START, &e);
}

void client_tell_state(agent *a, client *c)
{
    control_state state = {0};

    state.rows = c->rows_told = c->out.rows + c->out.more_rows;
    state.lost = c->out.dropped;
    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        for (size_t k = 0; k < ENGINE_MAX_LOSSES && (c->engines & 1ull << i) != 0; k++)
            state.lost += atomic_load(&a->engines[i].lost[k]) - c->lost_before[i][k];
    state.memory = arena_used(&a->memory);
    state.cpu_ns = os_thread_cpu_ns();
    state.sessions = client_count(a);
    for (uint64_t left = c->engines; left != 0; left &= left - 1)
        state.profilers++;
    control_put_state(&c->out.pending, &state);
}

static void obey(agent *a, client *c, const recording_chunk *command)
{
    if (c->state == CLIENT_GREETING) {
        greet(a, c, command);
        return;
    }
    switch (command->kind) {
    case CONTROL_START:
        start(a, c, command);
        break;
    case CONTROL_STOP:
        agent_stop_client(a, c);
        control_put_plain(&c->out.pending, CONTROL_STOPPED);
        break;
    case CONTROL_FLUSH:
        atomic_fetch_add(&a->hurries, 1); /* samples too */
        agent_round(a, false);
        if (c->state != CLIENT_FREE)
            control_put_plain(&c->out.pending, CONTROL_FLUSHED);
        break;
    case CONTROL_PING:
        control_put_plain(&c->out.pending, CONTROL_PONG);
        break;
    case CONTROL_STATUS:
        client_tell_state(a, c);
        break;
    case CONTROL_GOODBYE:
        agent_stop_client(a, c);
        leave(c);
        break;
    default:
        break; /* a newer tool's word that we need not know */
    }
}

static void report_loss(client *c, const char *profiler, const char *reason, uint64_t total,
                        uint64_t *reported)
{
    size_t chunk;

    if (total == *reported)
        return;
    chunk = recording_begin_chunk(&c->out.pending, RECORDING_LOSS, 0);
    recording_put_loss(&c->out.pending, profiler, reason, total);
    if (recording_end_chunk(&c->out.pending, chunk))
        *reported = total;
}

static bool hears_events(const client *c)
{
    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        if ((c->engines & 1ull << i) != 0 && ENGINES[i]->wish_count != 0)
            return true;
    return false;
}

/* Losses that changed, how many rows that makes, and now and then what the agent costs. */
void client_report(agent *a, client *c, bool with_cost)
{
    if (c->state != CLIENT_RECORDING)
        return;
    if (c->out.rows + c->out.more_rows != c->rows_told)
        client_tell_state(a, c); /* now: the process may end before anybody asks */
    for (unsigned i = 0; i < ENGINE_COUNT; i++) {
        const char *loss = ENGINES[i]->losses;

        for (size_t k = 0; *loss != '\0' && (c->engines & 1ull << i) != 0;
             k++, loss += strlen(loss) + 1)
            report_loss(c, ENGINES[i]->name, loss,
                        atomic_load(&a->engines[i].lost[k]) - c->lost_before[i][k],
                        &c->lost_reported[i][k]);
    }
    report_loss(c, "agent", "rows dropped: the tool reads too slowly or memory ran out",
                c->out.dropped, &c->dropped_reported);
    report_loss(c, "agent", "memory cap reached",
                atomic_load(&a->memory.refused) - c->refused_before, &c->refused_reported);
    report_loss(c, "agent", "names not asked for: an assembly was unloaded meanwhile",
                a->names.unasked - c->unasked_before, &c->unasked_reported);
    if (hears_events(c))
        report_loss(c, "agent", "moment without events: another recording began or ended",
                    a->pipe.replaced - c->replaced_before, &c->replaced_reported);
    if (with_cost) {
        recording_cost cost = {0, 0, 0, arena_used(&a->memory) + sampling_stacks_used()};
        size_t chunk = recording_begin_chunk(&c->out.pending, RECORDING_COST, 0);

        sampling_cost(&cost.thread_cpu_ns, &cost.handler_ns, &cost.handler_calls);
        cost.thread_cpu_ns += os_thread_cpu_ns() - c->cost_before.thread_cpu_ns;
        cost.handler_ns -= c->cost_before.handler_ns;
        cost.handler_calls -= c->cost_before.handler_calls;
        recording_put_cost(&c->out.pending, &cost);
        recording_end_chunk(&c->out.pending, chunk);
    }
}
