/*
 * The report page, built from web/ and put into the program (cmake/web.cmake).
 *
 * A report is report_page_head, the data as JSON (docs/report-data.md), report_page_tail. The JSON
 * stands inside a script element, so its writer must escape every '<' as \u003c; the page's policy
 * lets no script run but its own, whatever the data contains.
 */
#ifndef CLARINET_REPORT_PAGE_H
#define CLARINET_REPORT_PAGE_H

extern const char report_page_head[]; /* zero-terminated UTF-8, up to the data */
extern const char report_page_tail[]; /* zero-terminated UTF-8, after the data */

#endif
