/* eventpipe: see eventpipe.h. Thread rules: nothing is shared. */
#include "diagnostics/eventpipe.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "diagnostics/refusal.h"

enum { SET_EVENTPIPE = 2, EVENTPIPE_STOP = 1, EVENTPIPE_COLLECT_2 = 3, FORMAT_NETTRACE = 1 };

enum { DEFAULT_BUFFER_MB = 16, BUFFER_MB_MAX = 1024 };

int eventpipe_start(const ipc_address *address, const eventpipe_options *options,
                    eventpipe_session *session, error *e)
{
    uint32_t buffer_mb = options->buffer_mb == 0 ? DEFAULT_BUFFER_MB : options->buffer_mb;
    buffer payload = BUFFER_EMPTY;
    ipc_answer answer;
    int code;

    session->id = 0;
    session->descriptor = -1;
    if (options->count == 0 || buffer_mb > BUFFER_MB_MAX)
        return error_set(e, ERROR_USAGE, "an event session needs a provider, and at most %d MB",
                         BUFFER_MB_MAX);
    buffer_append_u32(&payload, buffer_mb);
    buffer_append_u32(&payload, FORMAT_NETTRACE);
    buffer_append_u8(&payload, options->rundown);
    buffer_append_u32(&payload, (uint32_t)options->count);
    for (size_t i = 0; i < options->count; i++) {
        const eventpipe_provider *provider = &options->providers[i];

        buffer_append_u64(&payload, provider->keywords);
        buffer_append_u32(&payload, provider->level);
        ipc_append_text(&payload, provider->name);
        ipc_append_text(&payload, provider->filter);
    }
    code = ipc_call(address, SET_EVENTPIPE, EVENTPIPE_COLLECT_2, &payload, &answer,
                    &session->descriptor, e);
    buffer_free(&payload);
    if (code != 0)
        return code;
    if (answer.refused) {
        code = refusal_set(e, answer.hresult, "process %d did not start an event session",
                           address->process_id);
    } else {
        session->id = reader_u64(&answer.payload);
        if (reader_failed(&answer.payload)) {
            eventpipe_close(session);
            code = error_set(e, ERROR_CORRUPT, "the answer to CollectTracing2 is not understood");
        }
    }
    ipc_answer_free(&answer);
    return code;
}

int eventpipe_stop(const ipc_address *address, const eventpipe_session *session, error *e)
{
    buffer payload = BUFFER_EMPTY;
    ipc_answer answer;
    int code;

    buffer_append_u64(&payload, session->id);
    code = ipc_call(address, SET_EVENTPIPE, EVENTPIPE_STOP, &payload, &answer, NULL, e);
    buffer_free(&payload);
    if (code != 0)
        return code;
    if (answer.refused)
        code = refusal_set(e, answer.hresult, "process %d did not stop its event session",
                           address->process_id);
    ipc_answer_free(&answer);
    return code;
}

void eventpipe_close(eventpipe_session *session)
{
    if (session->descriptor >= 0)
        close(session->descriptor);
    session->descriptor = -1;
}

long eventpipe_read(const eventpipe_session *session, void *bytes, size_t room, int timeout_ms,
                    error *e)
{
    for (;;) {
        struct pollfd waiting = {session->descriptor, POLLIN, 0};
        ssize_t n = recv(session->descriptor, bytes, room, MSG_DONTWAIT);
        int ready;

        if (n >= 0)
            return n;
        if (errno == ECONNRESET)
            return 0; /* the process ended with bytes of ours unread */
        if (errno != EAGAIN && errno != EINTR)
            return error_set_errno(e, ERROR_IO, errno, "cannot read the event stream");
        ready = poll(&waiting, 1, timeout_ms);
        if (ready == 0)
            return error_set(e, ERROR_TIMEOUT, "no event came in %d ms", timeout_ms);
        if (ready < 0 && errno != EINTR)
            return error_set_errno(e, ERROR_IO, errno, "cannot wait for the event stream");
    }
}
