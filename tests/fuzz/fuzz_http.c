/* Fuzz target: heads of HTTP requests, and the bodies that begin a session. */
#include <stddef.h>
#include <stdint.h>

#include "server/http.h"
#include "server/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static http_request r;
    session_request request;
    char text[64];
    int head = http_parse_head(&r, data, size);

    if (head > 0) {
        http_cookie(&r, "clarinet-8473", text, sizeof text);
        if (http_header(&r, "host") != NULL)
            http_host(http_header(&r, "host"), text, sizeof text);
    }
    if (request_parse(data, size, &request, NULL) == 0)
        request_free(&request);
    return 0;
}
