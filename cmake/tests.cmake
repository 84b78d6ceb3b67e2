# Unit tests: tests/unit/test_NAME.c is one program, run by ctest in a process of its own.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
# The agent's code once more, outside a target: what its unit tests link.
if(agent_sources)
  add_library(clarinet_agent_parts STATIC ${agent_sources} ${profilers_sources})
  target_link_libraries(clarinet_agent_parts PUBLIC clarinet_tool)
endif()
# The parts of the instrumentation agent that need no runtime.
set(instrument_parts ${instrumentation_sources})
list(FILTER instrument_parts INCLUDE REGEX "/(builder|template|template_api|journal|platform|platform_linux)\\.c$")
add_library(clarinet_instrument_parts STATIC ${instrument_parts})
target_link_libraries(clarinet_instrument_parts PUBLIC clarinet_tool)
file(GLOB unit_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/test_*.c)

# What several tests share, and the programs that make their input.
file(GLOB test_support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.c)
list(FILTER test_support EXCLUDE REGEX "/make_[a-z_]+\\.c$")
add_library(test_support STATIC ${test_support})
target_link_libraries(test_support PUBLIC clarinet_tool)
target_include_directories(test_support PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_compile_options(test_support PRIVATE -Wno-conversion)
target_compile_definitions(test_support PRIVATE TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
add_executable(make_recording ${PROJECT_SOURCE_DIR}/tests/support/make_recording.c)
target_link_libraries(make_recording PRIVATE test_support)
set_target_properties(make_recording PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

# The agent of an older version, for the tests of a tool that meets one: only the files that know
# the protocol's number are other ones.
if(agent_sources)
  set(older_files "/(agent/(agent|client|lifecycle)|control/control)\\.c")
  set(older_sources ${agent_sources} ${control_sources})
  list(FILTER older_sources INCLUDE REGEX "${older_files}$")
  target_library(clarinet_agent_older clarinet)
  target_sources(clarinet_agent_older PRIVATE ${older_sources}
    "$<FILTER:$<TARGET_OBJECTS:clarinet_agent>,EXCLUDE,${older_files}\\.o$>")
  target_compile_options(clarinet_agent_older PRIVATE -UCLARINET_VERSION
    -DCLARINET_VERSION="0.0.7" -DCLARINET_PROTOCOL=1)
  set_target_properties(clarinet_agent_older PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/older)
endif()

# What the sanitizer builds build, and nothing else.
add_custom_target(unit_tests)
foreach(file ${unit_tests})
  get_filename_component(name ${file} NAME_WE)
  set(unit_test_names ${unit_test_names} ${name})
  add_executable(${name} ${file})
  target_link_libraries(${name} PRIVATE $<TARGET_NAME_IF_EXISTS:clarinet_agent_parts>
                        clarinet_instrument_parts test_support clarinet_tool PkgConfig::CMOCKA)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_options(${name} PRIVATE -Wno-conversion)
  target_compile_definitions(${name} PRIVATE TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                             TEST_BINARY_DIR="${CMAKE_BINARY_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600)
endforeach()
add_dependencies(unit_tests ${unit_test_names})

# Programs of the proofs at scale: tests/scale/NAME.c. They take files as arguments; tests/e2e and
# tests/long run them.
file(GLOB scale_programs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/scale/*.c)
foreach(file ${scale_programs})
  get_filename_component(name ${file} NAME_WE)
  add_executable(${name} ${file})
  target_link_libraries(${name} PRIVATE clarinet_tool)
  target_compile_options(${name} PRIVATE -Wno-conversion)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()
