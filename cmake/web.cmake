# The report page: web/ is inlined into one file by web/build.py (Python 3, no npm) and put into the
# program as two zero-terminated strings, before and after the data: see src/report/page.h. The
# server's page and the description of its API (src/server/api.h) come the same way.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

file(GLOB web_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/src/*)
set(web_out ${CMAKE_BINARY_DIR}/web)
add_custom_command(
  OUTPUT ${web_out}/report_page.head.html ${web_out}/report_page.tail.html
         ${web_out}/report_page.html ${web_out}/serve_page.html
  COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/web/build.py --out ${web_out}
  COMMAND ${CMAKE_COMMAND} -E touch ${web_out}/report_page.head.html
          ${web_out}/report_page.tail.html ${web_out}/report_page.html
          ${web_out}/serve_page.html
  DEPENDS ${web_sources} ${PROJECT_SOURCE_DIR}/web/build.py
  COMMENT "Building the report page"
  VERBATIM)

file(CONFIGURE OUTPUT ${web_out}/report_page.S CONTENT [[
    .section .rodata
    .global report_page_head
report_page_head:
    .incbin "@web_out@/report_page.head.html"
    .byte 0
    .global report_page_tail
report_page_tail:
    .incbin "@web_out@/report_page.tail.html"
    .byte 0
    .global serve_page
serve_page:
    .incbin "@web_out@/serve_page.html"
    .byte 0
    .global serve_openapi
serve_openapi:
    .incbin "@PROJECT_SOURCE_DIR@/web/openapi.json"
    .byte 0
    .section .note.GNU-stack,"",%progbits
]] @ONLY)
set_source_files_properties(${web_out}/report_page.S PROPERTIES OBJECT_DEPENDS
  "${web_out}/report_page.head.html;${web_out}/report_page.tail.html;${web_out}/serve_page.html;${PROJECT_SOURCE_DIR}/web/openapi.json")
