# The clarinet program and the static library behind it (also what the unit tests link).
find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
find_package(Threads REQUIRED)

set(tool_sources ${base_sources} ${rules_sources} ${clr_sources} ${cil_sources} ${metadata_sources}
    ${stackwalk_sources} ${catalogue_sources} ${control_sources} ${recording_sources}
    ${symbols_sources} ${diagnostics_sources} ${session_sources}
    ${analysis_sources} ${report_sources} ${server_sources} ${cli_sources})
list(FILTER tool_sources EXCLUDE REGEX "/cli/main\\.c$")
include(cmake/web.cmake)        # the report page, embedded
add_library(clarinet_tool STATIC ${tool_sources} ${web_out}/report_page.S)
target_link_libraries(clarinet_tool PUBLIC clarinet_warnings PkgConfig::JANSSON PkgConfig::ZLIB
                      Threads::Threads m)
target_compile_definitions(clarinet_tool PUBLIC _GNU_SOURCE
                           CLARINET_VERSION="${PROJECT_VERSION}")
if(CLARINET_SANITIZE)
  target_compile_options(clarinet_tool PUBLIC -fsanitize=${CLARINET_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(clarinet_tool PUBLIC -fsanitize=${CLARINET_SANITIZE})
endif()

add_executable(clarinet ${PROJECT_SOURCE_DIR}/src/cli/main.c)
target_link_libraries(clarinet PRIVATE clarinet_tool)
