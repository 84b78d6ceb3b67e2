/* guard: see guard.h. */
#include "server/guard.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "base/text.h"

/* So many at once, and one more each so often. */
typedef struct {
    double left;
    double most;
    double each_second;
    uint64_t at_ns;
} allowance;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static allowance starts = {30, 30, 1, 0};
static allowance guesses = {20, 20, 2, 0};

static bool spend(allowance *a)
{
    uint64_t now = os_monotonic_ns();
    bool granted;

    pthread_mutex_lock(&lock);
    if (a->at_ns != 0)
        a->left += (double)(now - a->at_ns) / 1e9 * a->each_second;
    a->left = a->left > a->most ? a->most : a->left;
    a->at_ns = now;
    granted = a->left >= 1;
    if (granted)
        a->left -= 1;
    pthread_mutex_unlock(&lock);
    return granted;
}

bool guard_may_start(void)
{
    return spend(&starts);
}

bool guard_is_ending(int descriptor)
{
    struct pollfd wait = {.fd = descriptor, .events = POLLIN};

    return descriptor >= 0 && poll(&wait, 1, 0) > 0;
}

/* Takes as long for a wrong one as for the right one. */
static bool is_token(const char *token, const char *given)
{
    size_t length = strlen(token);
    unsigned different = strlen(given) != length;

    for (size_t i = 0; i < length && given[i] != '\0'; i++)
        different |= (unsigned)(token[i] ^ given[i]);
    return different == 0;
}

static bool host_is_ours(const api *a, const http_request *r)
{
    const char *header = http_header(r, "host");
    char host[256];
    size_t length;

    if (a->hosts == NULL)
        return true;
    if (header == NULL || !http_host(header, host, sizeof host))
        return false;
    length = strlen(host);
    for (const char *at = a->hosts; *at != '\0';) {
        size_t size = strcspn(at, ",");

        if (size == length && strncasecmp(at, host, size) == 0)
            return true;
        at += size + (at[size] == ',');
    }
    return false;
}

/* Another page in the same browser must not act for the person. */
static bool comes_from_elsewhere(const http_request *r)
{
    const char *site = http_header(r, "sec-fetch-site");
    const char *origin = http_header(r, "origin");
    const char *host = http_header(r, "host");

    if (site != NULL && !text_equal(site, "same-origin") && !text_equal(site, "none"))
        return true;
    if (origin == NULL)
        return false;
    return host == NULL || !text_starts_with(origin, "http://") || !text_equal(origin + 7, host);
}

static bool send_on_with_cookie(const api *a, reply *out)
{
    reply_free(out);
    out->status = 303;
    snprintf(out->location, sizeof out->location, "/");
    snprintf(out->cookie, sizeof out->cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", a->cookie,
             a->token);
    return false;
}

static bool may_pass(const api *a, const http_request *r, reply *out)
{
    const char *header = http_header(r, "authorization");
    const char *query = http_query(r, "token");
    char cookie[128];
    bool is_read = text_equal(r->method, "GET") || text_equal(r->method, "HEAD");

    if (!host_is_ours(a, r)) {
        reply_error(out, 421, "the Host header names another machine",
                    "use the printed address, or --host NAME for a name of this machine");
        return false;
    }
    if (!is_read && comes_from_elsewhere(r)) {
        reply_error(out, 403, "another site's page may not do this", "use Clarinet's own page");
        return false;
    }
    if (a->token[0] == '\0')
        return true;
    if (header != NULL && text_starts_with(header, "Bearer ") && is_token(a->token, header + 7))
        return true;
    if (http_cookie(r, a->cookie, cookie, sizeof cookie) && is_token(a->token, cookie))
        return query != NULL && is_read && text_equal(r->path, "/") ? send_on_with_cookie(a, out)
                                                                    : true;
    if (query != NULL && is_token(a->token, query)) {
        if (is_read)
            return text_equal(r->path, "/") ? send_on_with_cookie(a, out) : true;
        reply_error(out, 401, "?token= is for reading only",
                    "send it as Authorization: Bearer TOKEN");
        return false;
    }
    if (!spend(&guesses)) {
        reply_error(out, 429, "too many wrong tokens", "wait some seconds");
        return false;
    }
    reply_error(out, 401, "the token is missing or wrong",
                "open the address that clarinet serve printed, or send it as "
                "Authorization: Bearer TOKEN");
    return false;
}

bool guard_is_api(const char *path)
{
    return text_starts_with(path, "/api/") || text_equal(path, "/metrics");
}

bool guard_admit(const api *a, const http_request *r, reply *out)
{
    const char *site = http_header(r, "sec-fetch-site");

    if (!may_pass(a, r, out))
        return false;
    if (a->rest_api || !guard_is_api(r->path) || (site != NULL && text_equal(site, "same-origin")))
        return true;
    reply_error(out, 403, "the REST API is switched off", "it was begun with --no-rest-api");
    return false;
}
