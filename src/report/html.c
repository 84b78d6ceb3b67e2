/* html: the report page: the built page with the recording's data in the middle. */
#include "report/data.h"
#include "report/page.h"
#include "report/report.h"

int report_write_html(const model *m, const report_options *options, output *out, error *e)
{
    json j;
    int code;

    output_text(out, report_page_head);
    json_init(&j, out);
    code = data_write(m, options, &j, e);
    json_free(&j);
    output_text(out, report_page_tail);
    return code;
}
