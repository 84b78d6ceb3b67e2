# What `clarinet launch` runs without --profiler: the example `hello` (built by sdk.cmake). Its CLSID
# is taken from its source, so that it stands in one place.
set(hello_source ${PROJECT_SOURCE_DIR}/examples/hello/hello.c)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${hello_source})
file(STRINGS ${hello_source} hello_clsid REGEX "^CLR_PROFILER\\(")
string(REGEX MATCH "{[0-9A-Fa-f-]+}" hello_clsid "${hello_clsid}")
set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/cli/verb_launch.c APPEND PROPERTY
             COMPILE_DEFINITIONS CLARINET_HELLO_CLSID="${hello_clsid}")
