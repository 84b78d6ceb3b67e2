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

# The second viewer comes from npm, pinned by web/package-lock.json. Without npm or network the
# program is whole but for it, and says so.
set(speedscope ${PROJECT_SOURCE_DIR}/web/node_modules/speedscope/dist/release)
if(NOT EXISTS ${speedscope}/index.html)
  find_program(NPM npm)
  if(NPM)
    execute_process(
      COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --loglevel=error
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/web TIMEOUT 120 OUTPUT_QUIET ERROR_QUIET)
  endif()
  if(NOT EXISTS ${speedscope}/index.html)
    message(WARNING "speedscope could not be had from npm; it is left out of `clarinet serve`")
  endif()
endif()
set(speedscope_files ${web_out}/speedscope.js.gz ${web_out}/speedscope.css.gz
    ${web_out}/speedscope.woff2 ${web_out}/speedscope.license.gz)
add_custom_command(
  OUTPUT ${speedscope_files}
  COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/web/build.py --out ${web_out}
          --speedscope ${speedscope}
  COMMAND ${CMAKE_COMMAND} -E touch ${speedscope_files}
  DEPENDS ${PROJECT_SOURCE_DIR}/web/build.py ${PROJECT_SOURCE_DIR}/web/package-lock.json
  COMMENT "Packing speedscope"
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
    .global serve_speedscope_js, serve_speedscope_js_end
serve_speedscope_js:
    .incbin "@web_out@/speedscope.js.gz"
serve_speedscope_js_end:
    .byte 0
    .global serve_speedscope_css, serve_speedscope_css_end
serve_speedscope_css:
    .incbin "@web_out@/speedscope.css.gz"
serve_speedscope_css_end:
    .byte 0
    .global serve_speedscope_font, serve_speedscope_font_end
serve_speedscope_font:
    .incbin "@web_out@/speedscope.woff2"
serve_speedscope_font_end:
    .byte 0
    .global serve_speedscope_license, serve_speedscope_license_end
serve_speedscope_license:
    .incbin "@web_out@/speedscope.license.gz"
serve_speedscope_license_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
]] @ONLY)
set_source_files_properties(${web_out}/report_page.S PROPERTIES OBJECT_DEPENDS
  "${web_out}/report_page.head.html;${web_out}/report_page.tail.html;${web_out}/serve_page.html;${PROJECT_SOURCE_DIR}/web/openapi.json;${speedscope_files}")
