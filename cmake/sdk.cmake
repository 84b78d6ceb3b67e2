# The SDK: include/clarinet and libclarinet_sdk.a, for people who write a CLR profiler in C. The
# library is src/clr (but for what our own profilers read out of events), src/cil and the portable
# part of src/base, linked into one object in which only the public names (clr_…, CLR_…) are left
# global; position-independent, hidden, no OS calls.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(sdk_base buffer error memory reader table text)
list(TRANSFORM sdk_base PREPEND ${PROJECT_SOURCE_DIR}/src/base/)
list(TRANSFORM sdk_base APPEND .c)
set(sdk_cil ${cil_sources})
list(FILTER sdk_cil EXCLUDE REGEX "/pattern[.]c$")
set(sdk_clr ${clr_sources})
list(FILTER sdk_clr EXCLUDE REGEX "/([a-z]+_events|gc_collections)[.]c$")
add_library(clarinet_sdk_objects OBJECT ${sdk_clr} ${sdk_cil} ${sdk_base})
target_link_libraries(clarinet_sdk_objects PRIVATE clarinet_warnings)
target_compile_options(clarinet_sdk_objects PRIVATE -fPIC -fvisibility=hidden -ffunction-sections
                       -fdata-sections)
target_compile_definitions(clarinet_sdk_objects PRIVATE _GNU_SOURCE)

set(sdk_object ${CMAKE_BINARY_DIR}/sdk/clarinet_sdk.o)
set(sdk_library ${CMAKE_BINARY_DIR}/libclarinet_sdk.a)
add_custom_command(OUTPUT ${sdk_library}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/sdk
  COMMAND ${CMAKE_COMMAND} -E rm -f ${sdk_library}
  COMMAND ${CMAKE_LINKER} -r -o ${sdk_object} $<TARGET_OBJECTS:clarinet_sdk_objects>
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=clr_* --keep-global-symbol=CLR_*
          ${sdk_object}
  COMMAND ${CMAKE_AR} rcs ${sdk_library} ${sdk_object}
  DEPENDS clarinet_sdk_objects $<TARGET_OBJECTS:clarinet_sdk_objects>
  COMMAND_EXPAND_LISTS VERBATIM COMMENT "Linking libclarinet_sdk.a")
add_custom_target(clarinet_sdk_library ALL DEPENDS ${sdk_library})
add_library(clarinet_sdk STATIC IMPORTED)
set_target_properties(clarinet_sdk PROPERTIES IMPORTED_LOCATION ${sdk_library}
  INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/include)
add_dependencies(clarinet_sdk clarinet_sdk_library)

# The examples, as an author would build them. `hello` is also what `clarinet launch` runs.
foreach(name hello exceptions allocations calls rewrite)
  add_library(example_${name} MODULE ${PROJECT_SOURCE_DIR}/examples/${name}/${name}.c)
  target_link_libraries(example_${name} PRIVATE clarinet_sdk)
  target_compile_options(example_${name} PRIVATE -Wall -Wextra -fvisibility=hidden
                         $<$<BOOL:${CLARINET_WERROR}>:-Werror>)
  target_link_options(example_${name} PRIVATE -Wl,-z,defs)
  # One keeps all of the SDK, as plain cc does: what the SDK itself lacks is told here.
  if(NOT name STREQUAL "rewrite")
    target_link_options(example_${name} PRIVATE -Wl,--gc-sections)
  endif()
  set_target_properties(example_${name} PROPERTIES OUTPUT_NAME clarinet_${name} PREFIX lib
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
endforeach()

# Beside the program, where launch looks for it.
set_target_properties(example_hello PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

# The .pc file names its folders relative to itself, so that the prefix can be moved.
string(REGEX REPLACE "[^/]+" ".." sdk_up ${CMAKE_INSTALL_LIBDIR})
set(sdk_prefix_from_pc "\${pcfiledir}/../${sdk_up}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/clarinet-sdk.pc.in sdk/clarinet-sdk.pc @ONLY)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/clarinet-sdk-config.cmake.in
  ${CMAKE_BINARY_DIR}/sdk/clarinet-sdk-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/clarinet-sdk
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR NO_SET_AND_CHECK_MACRO
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/sdk/clarinet-sdk-config-version.cmake
  COMPATIBILITY SameMinorVersion)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/clarinet
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${sdk_library} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_BINARY_DIR}/sdk/clarinet-sdk.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${CMAKE_BINARY_DIR}/sdk/clarinet-sdk-config.cmake
        ${CMAKE_BINARY_DIR}/sdk/clarinet-sdk-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/clarinet-sdk)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples
        DESTINATION ${CMAKE_INSTALL_DATADIR}/clarinet)
install(TARGETS example_hello LIBRARY DESTINATION lib/clarinet)
