/* clarinet serve: the web UI and the REST API, until Ctrl-C. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/text.h"
#include "catalogue/catalogue.h"
#include "cli/bad_option.h"
#include "cli/cli.h"
#include "cli/library.h"
#include "server/server.h"

enum { STANDARD_PORT = 8473 };

typedef struct {
    server_options server;
    const char *port;
    const char *keep_size;
    const char *keep_days;
    const char *every, *length, *trigger, *pprof, *otlp, *profiles; /* of --watch */
    bool opens;
    buffer folder;
    buffer library;
    char program[512];
} request;

/* Every option has a twin in the environment; the option wins. */
static const char *from_environment(const char *value, const char *name)
{
    const char *found = value == NULL ? getenv(name) : NULL;

    return found != NULL && found[0] != '\0' ? found : value;
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' && !text_equal(value, "0") &&
           !text_equal_ignoring_case(value, "false");
}

static int parse_options(int argc, char **argv, request *q, error *e)
{
    static const char LETTERS[] = "+p:";
    static const struct option OPTIONS[] = {{"port", required_argument, NULL, 'p'},
                                            {"bind", required_argument, NULL, 'b'},
                                            {"socket", required_argument, NULL, 's'},
                                            {"token", required_argument, NULL, 't'},
                                            {"host", required_argument, NULL, 'H'},
                                            {"sessions", required_argument, NULL, 'S'},
                                            {"keep-size", required_argument, NULL, 'k'},
                                            {"keep-days", required_argument, NULL, 'a'},
                                            {"no-web-ui", no_argument, NULL, 'w'},
                                            {"no-rest-api", no_argument, NULL, 'r'},
                                            {"open", no_argument, NULL, 'o'},
                                            {"allow-commands", no_argument, NULL, 'c'},
                                            {"watch", required_argument, NULL, 'W'},
                                            {"every", required_argument, NULL, 'e'},
                                            {"for", required_argument, NULL, 'f'},
                                            {"trigger", required_argument, NULL, 'T'},
                                            {"push-pprof", required_argument, NULL, 'P'},
                                            {"push-otlp", required_argument, NULL, 'O'},
                                            {"push-otlp-profiles", required_argument, NULL, 'R'},
                                            {NULL, 0, NULL, 0}};
    server_options *s = &q->server;
    int option;

    s->web_ui = !is_set("CLARINET_NO_WEB_UI");
    s->rest_api = !is_set("CLARINET_NO_REST_API");
    s->commands = is_set("CLARINET_ALLOW_COMMANDS");
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, LETTERS, OPTIONS, NULL)) != -1) {
        switch (option) {
        case 'p':
            q->port = optarg;
            break;
        case 'b':
            s->address = optarg;
            break;
        case 's':
            s->socket = optarg;
            break;
        case 't':
            s->token = optarg;
            break;
        case 'H':
            s->hosts = optarg;
            break;
        case 'S':
            buffer_clear(&q->folder);
            buffer_append_text(&q->folder, optarg);
            break;
        case 'k':
            q->keep_size = optarg;
            break;
        case 'a':
            q->keep_days = optarg;
            break;
        case 'w':
            s->web_ui = false;
            break;
        case 'r':
            s->rest_api = false;
            break;
        case 'o':
            q->opens = true;
            break;
        case 'c':
            s->commands = true;
            break;
        case 'W':
            s->watch.name = optarg;
            break;
        case 'e':
            q->every = optarg;
            break;
        case 'f':
            q->length = optarg;
            break;
        case 'T':
            q->trigger = optarg;
            break;
        case 'P':
            q->pprof = optarg;
            break;
        case 'O':
            q->otlp = optarg;
            break;
        case 'R':
            q->profiles = optarg;
            break;
        default:
            return bad_option("serve", LETTERS, OPTIONS, argv, e);
        }
    }
    if (optind < argc) {
        error_set(e, ERROR_USAGE, "serve takes no '%s'", argv[optind]);
        return error_advise(e, "`clarinet serve --help` lists its options");
    }
    return 0;
}

static int check_numbers(request *q, error *e)
{
    uint64_t port = STANDARD_PORT;
    uint64_t days = 0;

    if (q->port != NULL && (!text_to_u64(q->port, &port) || port > 65535))
        return error_set(e, ERROR_USAGE, "--port wants a number from 0 to 65535, not '%s'",
                         q->port);
    q->server.port = (uint16_t)port;
    if (q->keep_days != NULL && (!text_to_u64(q->keep_days, &days) || days > 36500))
        return error_set(e, ERROR_USAGE, "--keep-days wants a number of days, not '%s'",
                         q->keep_days);
    q->server.keep_ns = days * UINT64_C(86400000000000);
    if (q->keep_size != NULL)
        return catalogue_parse_size(q->keep_size, &q->server.keep_bytes, e);
    return 0;
}

/* Who watches keeps a history, so it has a size. */
static int check_watch(request *q, error *e)
{
    watch_options *w = &q->server.watch;

    w->name = from_environment(w->name, "CLARINET_WATCH");
    q->every = from_environment(q->every, "CLARINET_EVERY");
    q->length = from_environment(q->length, "CLARINET_FOR");
    q->trigger = from_environment(q->trigger, "CLARINET_TRIGGER");
    q->pprof = from_environment(q->pprof, "CLARINET_PUSH_PPROF");
    q->otlp = from_environment(q->otlp, "CLARINET_PUSH_OTLP");
    q->profiles = from_environment(q->profiles, "CLARINET_PUSH_OTLP_PROFILES");
    if (w->name == NULL) {
        if (q->every == NULL && q->length == NULL && q->trigger == NULL && q->pprof == NULL &&
            q->otlp == NULL && q->profiles == NULL)
            return 0;
        error_set(e, ERROR_USAGE, "nobody is watched");
        return error_advise(e, "name a PID or a process: --watch Shop.Api");
    }
    if (catalogue_parse_duration(q->every == NULL ? "10m" : q->every, &w->every_ns, e) != 0 ||
        catalogue_parse_duration(q->length == NULL ? "30s" : q->length, &w->length_ns, e) != 0 ||
        watch_rules_parse(q->trigger == NULL ? "cpu,memory" : q->trigger, &w->rules, e) != 0)
        return e->code;
    if (w->length_ns == 0 || (w->every_ns != 0 && w->every_ns <= w->length_ns))
        return error_set(e, ERROR_USAGE, "--every must be longer than --for"),
               error_advise(e, "as in --every 10m --for 30s; --every 0 leaves it to the triggers");
    w->pushes_pprof = q->pprof != NULL;
    w->pushes_otlp = q->otlp != NULL;
    w->pushes_profiles = q->profiles != NULL;
    if ((w->pushes_pprof && http_parse_address(q->pprof, "4040", "/ingest", &w->pprof, e) != 0) ||
        (w->pushes_otlp && http_parse_address(q->otlp, "4318", "/v1/metrics", &w->otlp, e) != 0) ||
        (w->pushes_profiles &&
         http_parse_address(q->profiles, "4318", "/v1development/profiles", &w->profiles, e) != 0))
        return e->code;
    if (q->server.keep_bytes == 0 && q->server.keep_ns == 0)
        q->server.keep_bytes = UINT64_C(1) << 30;
    return 0;
}

/* What is dangerous is asked for twice. */
static int check_safety(const server_options *s, error *e)
{
    bool local = s->socket != NULL || text_equal(s->address, "::1") ||
                 text_equal(s->address, "localhost") || text_starts_with(s->address, "127.");

    if (!s->web_ui && !s->rest_api)
        return error_set(e, ERROR_USAGE, "nothing is left to serve");
    if (s->token == NULL)
        return 0;
    if (s->token[0] == '\0' && !local) {
        error_set(e, ERROR_USAGE, "without a token anybody in the network could use it");
        return error_advise(e, "leave out --token, or bind to 127.0.0.1");
    }
    if (strlen(s->token) > 100 || strspn(s->token, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTU"
                                                   "VWXYZ0123456789-_.~") != strlen(s->token))
        return error_set(e, ERROR_USAGE,
                         "a token has letters, digits and - _ . ~, 100 of them at most");
    return 0;
}

static int complete(request *q, error *e)
{
    server_options *s = &q->server;
    const char *folder = getenv("CLARINET_SESSIONS");
    ssize_t length = readlink("/proc/self/exe", q->program, sizeof q->program - 1);

    s->address = from_environment(s->address, "CLARINET_BIND");
    if (s->address == NULL)
        s->address = "127.0.0.1";
    s->socket = from_environment(s->socket, "CLARINET_SOCKET");
    s->token = from_environment(s->token, "CLARINET_TOKEN");
    s->hosts = from_environment(s->hosts, "CLARINET_HOST");
    q->port = from_environment(q->port, "CLARINET_PORT");
    q->keep_size = from_environment(q->keep_size, "CLARINET_KEEP_SIZE");
    q->keep_days = from_environment(q->keep_days, "CLARINET_KEEP_DAYS");
    if (q->folder.length == 0 && folder != NULL)
        buffer_append_text(&q->folder, folder);
    if (q->folder.length == 0) {
        const char *data = getenv("XDG_DATA_HOME");
        const char *home = getenv("HOME");

        if (data != NULL && data[0] == '/')
            buffer_format(&q->folder, "%s/clarinet/sessions", data);
        else if (home != NULL && home[0] == '/')
            buffer_format(&q->folder, "%s/.local/share/clarinet/sessions", home);
        else
            return error_set(e, ERROR_USAGE, "there is no home folder for the sessions"),
                   error_advise(e, "name a folder with --sessions");
    }
    if (length <= 0)
        return error_set_errno(e, ERROR_IO, errno, "the program does not find itself");
    q->program[length] = '\0';
    s->program = q->program;
    s->folder = buffer_text(&q->folder);
    if (check_numbers(q, e) != 0 || check_watch(q, e) != 0 || check_safety(s, e) != 0 ||
        library_find(LIBRARY_AGENT, &q->library, e) != 0)
        return e->code;
    s->library = buffer_text(&q->library);
    return 0;
}

/* In a window of its own where a browser can do that, else wherever addresses are opened. */
static void open_browser(const char *url)
{
    static const char *const BROWSERS[] = {"chromium", "google-chrome", "microsoft-edge",
                                           "xdg-open"};
    buffer app = BUFFER_EMPTY;

    buffer_format(&app, "--app=%s", url);
    for (size_t i = 0; i < sizeof BROWSERS / sizeof *BROWSERS; i++) {
        bool is_browser = i + 1 < sizeof BROWSERS / sizeof *BROWSERS;
        char *argv[] = {(char *)(uintptr_t)BROWSERS[i],
                        (char *)(uintptr_t)(is_browser ? buffer_text(&app) : url), NULL};
        pid_t child;

        if (posix_spawnp(&child, BROWSERS[i], NULL, NULL, argv, environ) == 0) {
            buffer_free(&app);
            return;
        }
    }
    buffer_free(&app);
    fputs("no browser was found; open the address yourself\n", stderr);
}

int verb_serve(int argc, char **argv)
{
    request q = {0};
    server *s = NULL;
    error e;

    error_clear(&e);
    if (parse_options(argc, argv, &q, &e) != 0 || complete(&q, &e) != 0)
        return cli_fail(&e);
    signal(SIGPIPE, SIG_IGN);
    q.server.stop = cli_open_stop_descriptor(NULL);
    if (server_open(&q.server, &s, &e) != 0)
        return cli_fail(&e);
    printf("%s\nsessions in %s; Ctrl-C ends\n", server_url(s), q.server.folder);
    fflush(stdout);
    if (q.opens)
        open_browser(server_url(s));
    server_run(s);
    server_close(s);
    buffer_free(&q.folder);
    buffer_free(&q.library);
    return CLI_DONE;
}
