/* html: the report page: the built page with the recording's data in the middle. */
#include "report/data.h"
#include "report/page.h"
#include "report/report.h"

int report_write_html(const model *m, const report_options *options, sink *out, error *e)
{
    json j;
    int code;

    sink_text(out, report_page_head);
    json_init(&j, out);
    code = data_write(m, options, &j, e);
    json_free(&j);
    sink_text(out, report_page_tail);
    return code;
}
