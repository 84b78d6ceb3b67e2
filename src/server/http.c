/* http: see http.h. */
#include "server/http.h"

#include <string.h>

#include "base/text.h"

static bool is_token(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %41 and, in a query, + in place; false when an escape is broken or stands for a zero. */
static bool decode(char *text, bool plus)
{
    char *out = text;

    for (const char *in = text; *in != '\0'; in++) {
        if (*in == '%') {
            int high = hex(in[1]);
            int low = high < 0 ? -1 : hex(in[2]);

            if (low < 0 || (high == 0 && low == 0))
                return false;
            *out++ = (char)(high << 4 | low);
            in += 2;
        } else {
            *out++ = plus && *in == '+' ? ' ' : *in;
        }
    }
    *out = '\0';
    return true;
}

static int parse_query(http_request *r, char *text)
{
    while (text != NULL && *text != '\0') {
        char *next = strchr(text, '&');
        char *value;

        if (next != NULL)
            *next++ = '\0';
        value = strchr(text, '=');
        if (value != NULL)
            *value++ = '\0';
        if (r->query_count == HTTP_MAX_FIELDS || !decode(text, true) ||
            (value != NULL && !decode(value, true)))
            return -400;
        r->query[r->query_count].name = text;
        r->query[r->query_count++].value = value == NULL ? "" : value;
        text = next;
    }
    return 0;
}

/* "GET /path?query HTTP/1.1" */
static int parse_request_line(http_request *r, char *line)
{
    char *path = strchr(line, ' ');
    char *version = path == NULL ? NULL : strchr(path + 1, ' ');
    char *query;

    if (version == NULL)
        return -400;
    *path++ = '\0';
    *version++ = '\0';
    if (line[0] == '\0')
        return -400;
    for (const char *c = line; *c != '\0'; c++)
        if (!is_token(*c))
            return -400;
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
        return strncmp(version, "HTTP/", 5) == 0 ? -505 : -400;
    if (path[0] != '/')
        return -400;
    for (const char *c = path; *c != '\0'; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f || *c == '#')
            return -400;
    r->method = line;
    r->path = path;
    r->keeps_alive = version[7] == '1';
    query = strchr(path, '?');
    if (query != NULL)
        *query++ = '\0';
    if (!decode(path, false))
        return -400;
    return parse_query(r, query);
}

static int parse_header(http_request *r, char *line)
{
    char *value = strchr(line, ':');
    char *end;

    if (value == NULL || value == line || r->header_count == HTTP_MAX_FIELDS)
        return value == NULL || value == line ? -400 : -431;
    *value++ = '\0';
    for (char *c = line; *c != '\0'; c++) {
        if (!is_token(*c))
            return -400;
        *c = lower(*c);
    }
    value += strspn(value, " \t");
    end = value + strlen(value);
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
    for (const char *c = value; *c != '\0'; c++)
        if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f)
            return -400;
    r->headers[r->header_count].name = line;
    r->headers[r->header_count++].value = value;
    return 0;
}

/* What the headers say about the connection and the body. */
static int read_meaning(http_request *r)
{
    const char *length = NULL;
    const char *connection = http_header(r, "connection");
    const char *expect = http_header(r, "expect");
    size_t hosts = 0;

    for (size_t i = 0; i < r->header_count; i++) {
        const char *name = r->headers[i].name;

        if (strcmp(name, "host") == 0)
            hosts++;
        if (strcmp(name, "transfer-encoding") == 0)
            return -411;
        if (strcmp(name, "content-length") != 0)
            continue;
        if (length != NULL)
            return -400;
        length = r->headers[i].value;
        if (strspn(length, "0123456789") != strlen(length) ||
            !text_to_u64(length, &r->content_length))
            return -400;
    }
    if (hosts > 1 || (hosts == 0 && r->keeps_alive)) /* 1.1 needs one */
        return -400;
    if (connection != NULL)
        r->keeps_alive = text_equal_ignoring_case(connection, "keep-alive") ||
                         (r->keeps_alive && !text_equal_ignoring_case(connection, "close"));
    if (expect != NULL && !text_equal_ignoring_case(expect, "100-continue"))
        return -417;
    r->expects_continue = expect != NULL;
    return 0;
}

/* Where the head ends, after its empty line; 0 = not yet. */
static size_t find_end(const char *bytes, size_t length)
{
    for (size_t i = 0; i + 1 < length; i++) {
        if (bytes[i] != '\n')
            continue;
        if (bytes[i + 1] == '\n')
            return i + 2;
        if (i + 2 < length && bytes[i + 1] == '\r' && bytes[i + 2] == '\n')
            return i + 3;
    }
    return 0;
}

int http_parse_head(http_request *r, const void *bytes, size_t length)
{
    size_t end = find_end(bytes, length < HTTP_MAX_HEAD ? length : HTTP_MAX_HEAD);
    int code;

    r->header_count = r->query_count = 0;
    r->content_length = 0;
    r->method = r->path = "";
    if (end == 0)
        return length >= HTTP_MAX_HEAD ? -431 : 0;
    memcpy(r->text, bytes, end);
    r->text[end] = '\0';
    if (strlen(r->text) != end)
        return -400;
    for (char *line = r->text; line != NULL;) {
        char *next = strchr(line, '\n');
        size_t size = next == NULL ? strlen(line) : (size_t)(next - line);

        if (size > 0 && line[size - 1] == '\r')
            size--;
        line[size] = '\0';
        if (next == NULL || (size == 0 && line != r->text))
            break;
        code = line == r->text ? parse_request_line(r, line) : parse_header(r, line);
        if (code != 0)
            return code;
        line = next + 1;
    }
    code = read_meaning(r);
    return code != 0 ? code : (int)end;
}

const char *http_header(const http_request *r, const char *name)
{
    for (size_t i = 0; i < r->header_count; i++)
        if (strcmp(r->headers[i].name, name) == 0)
            return r->headers[i].value;
    return NULL;
}

const char *http_query(const http_request *r, const char *name)
{
    for (size_t i = 0; i < r->query_count; i++)
        if (strcmp(r->query[i].name, name) == 0)
            return r->query[i].value;
    return NULL;
}

bool http_cookie(const http_request *r, const char *name, char *value, size_t room)
{
    const char *at = http_header(r, "cookie");
    size_t length = strlen(name);

    while (at != NULL && *at != '\0') {
        at += strspn(at, "; ");
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            size_t size = strcspn(at + length + 1, "; ");

            if (size >= room)
                return false;
            memcpy(value, at + length + 1, size);
            value[size] = '\0';
            return true;
        }
        at = strchr(at, ';');
    }
    return false;
}

bool http_host(const char *header, char *host, size_t room)
{
    const char *end = header[0] == '[' ? strchr(header, ']') : header + strcspn(header, ":");
    size_t size;

    if (end == NULL)
        return false;
    end += header[0] == '[';
    size = (size_t)(end - header);
    if (size == 0 || size >= room)
        return false;
    if (*end == ':' ? strspn(end + 1, "0123456789") != strlen(end + 1) : *end != '\0')
        return false;
    for (size_t i = 0; i < size; i++)
        host[i] = lower(header[i]);
    host[size] = '\0';
    return true;
}

const char *http_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } REASONS[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {303, "See Other"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < sizeof REASONS / sizeof *REASONS; i++)
        if (REASONS[i].status == status)
            return REASONS[i].reason;
    return "Error";
}
