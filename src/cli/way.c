/* way: see way.h. */
#include "cli/way.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/text.h"
#include "cli/file_name.h"
#include "cli/plain.h"

int way_choose(session_way *way, bool starts_command, error *e)
{
    const char *wish = getenv("CLARINET_WAY");

    *way = SESSION_BY_EITHER;
    if (wish == NULL || wish[0] == '\0')
        return 0;
    if (text_equal(wish, "port"))
        *way = SESSION_BY_PORT;
    else if (text_equal(wish, "agent"))
        *way = SESSION_BY_AGENT;
    else {
        error_set(e, ERROR_USAGE, "CLARINET_WAY is '%s'", wish);
        return error_advise(e, "it may be agent, port, or not set"), ERROR_USAGE;
    }
    if (starts_command && *way == SESSION_BY_PORT) {
        error_set(e, ERROR_USAGE, "CLARINET_WAY=port works on a running process only");
        return error_advise(e, "start the program and name its PID, or unset CLARINET_WAY"),
               ERROR_USAGE;
    }
    return 0;
}

void way_tell(const session_result *result)
{
    if (!result->through_port)
        return;
    fprintf(stderr, "recorded through the diagnostics port, without the agent in the process%s",
            result->way_reason.code == 0 ? "" : ": ");
    plain_put(stderr, result->way_reason.message);
    fputc('\n', stderr);
    if (result->missing[0] != '\0')
        fprintf(stderr, "  missing, because they need the agent: %s\n", result->missing);
    fputs("  what else this way does not tell: docs/port.md\n", stderr);
    way_tell_stream(result);
}

void way_tell_stream(const session_result *result)
{
    buffer name = BUFFER_EMPTY;

    if (!result->through_port || result->stream[0] == '\0')
        return;
    file_name_append_quoted(&name, result->stream);
    fprintf(stderr, "all events that came are in %s\n  next: clarinet report %s -f md\n",
            result->stream, buffer_text(&name));
    buffer_free(&name);
}

void way_tell_left_out(const session_result *result)
{
    if (result->meter_note[0] == '\0')
        return;
    fputs("clarinet: ", stderr);
    plain_put(stderr, result->meter_note);
    fputc('\n', stderr);
}
