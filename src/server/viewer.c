/* viewer: see viewer.h. cmake/web.cmake puts the files into the program. */
#include "server/viewer.h"

#include "base/text.h"

extern const char serve_speedscope_js[], serve_speedscope_js_end[];
extern const char serve_speedscope_css[], serve_speedscope_css_end[];
extern const char serve_speedscope_font[], serve_speedscope_font_end[];
extern const char serve_speedscope_license[], serve_speedscope_license_end[];

/* It makes style sheets of its own while it runs, hence 'unsafe-inline' for styles; a reader of one
 * of its formats is WebAssembly. */
static const char POLICY[] =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "font-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

static const char PAGE[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>speedscope \u2013 Clarinet</title>\n"
    "<link rel=\"icon\" href=\"data:,\">\n"
    "<link rel=\"license\" href=\"license\">\n"
    "<link rel=\"stylesheet\" href=\"speedscope.css\">\n</head>\n"
    "<body><script src=\"speedscope.js\"></script></body>\n</html>\n";

static const struct {
    const char *name;
    const char *type;
    const char *begin, *end;
    bool packed;
} FILES[] = {
    {"", "text/html; charset=utf-8", PAGE, PAGE + sizeof PAGE - 1, false},
    {"speedscope.js", "text/javascript; charset=utf-8", serve_speedscope_js,
     serve_speedscope_js_end, true},
    {"speedscope.css", "text/css; charset=utf-8", serve_speedscope_css, serve_speedscope_css_end,
     true},
    {"font.woff2", "font/woff2", serve_speedscope_font, serve_speedscope_font_end, false},
    {"license", "text/plain; charset=utf-8", serve_speedscope_license, serve_speedscope_license_end,
     true},
};

bool viewer_is_here(void)
{
    return serve_speedscope_js_end - serve_speedscope_js > 0;
}

void viewer_answer(const char *name, reply *out)
{
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES && viewer_is_here(); i++) {
        if (!text_equal(FILES[i].name, name))
            continue;
        out->type = FILES[i].type;
        out->policy = POLICY;
        out->packed = FILES[i].packed;
        buffer_append(&out->body, FILES[i].begin, (size_t)(FILES[i].end - FILES[i].begin));
        return;
    }
    reply_error(out, 404,
                viewer_is_here() ? "there is no such page" : "this build has no speedscope",
                viewer_is_here() ? "the page is /speedscope/"
                                 : "build it where npm can reach its registry");
}
