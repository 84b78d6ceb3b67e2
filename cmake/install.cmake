# What `cmake --install` installs, and the packages `cpack` makes of it (./dev package).
#
# Two components: "clarinet" is everything; "bundled" is the shared libraries the program needs
# beyond libc, for the .tar.gz only. A .deb names them as dependencies instead.
include(GNUInstallDirs)
# The program looks for its libraries in ../lib/clarinet (src/cli/library.h), whatever LIBDIR is.
set(private_libraries lib/clarinet)

install(TARGETS clarinet RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# RPATH and not RUNPATH: it also serves the libraries that the bundled libraries need.
set_target_properties(clarinet PROPERTIES INSTALL_RPATH "$ORIGIN/../${private_libraries}/bundled")
target_link_options(clarinet PRIVATE -Wl,--disable-new-dtags)
foreach(library clarinet_agent clarinet_instrument clarinet_gate)
  if(TARGET ${library})
    install(TARGETS ${library} LIBRARY DESTINATION ${private_libraries})
  endif()
endforeach()
# Launchers for the instrumentation agent; they look for it in ../../lib/clarinet.
install(PROGRAMS scripts/clarinet-instrument.sh scripts/clarinet-instrument.ps1
        DESTINATION ${CMAKE_INSTALL_DATADIR}/clarinet)
include(cmake/sdk.cmake OPTIONAL)

# Man pages and completions are what the built program says about itself.
if(NOT CLARINET_SANITIZE AND NOT CLARINET_FUZZ AND NOT CMAKE_CROSSCOMPILING)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(pages ${CMAKE_BINARY_DIR}/pages)
  add_custom_command(
    OUTPUT ${pages}/pages.stamp
    COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/make-man.py
            $<TARGET_FILE:clarinet> ${pages}
    DEPENDS clarinet ${PROJECT_SOURCE_DIR}/tools/make-man.py
    COMMENT "Writing the man pages and completions"
    VERBATIM)
  add_custom_target(pages ALL DEPENDS ${pages}/pages.stamp)
  install(DIRECTORY ${pages}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${pages}/completions/clarinet
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${pages}/completions/_clarinet
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
  install(FILES ${pages}/completions/clarinet.fish
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md"
        PATTERN "*.svg")
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

# The loader, libc and its companions belong to the machine; everything else goes along.
install(CODE "set(program \"$<TARGET_FILE:clarinet>\")
set(place \"${private_libraries}/bundled\")" COMPONENT bundled EXCLUDE_FROM_ALL)
install(CODE [[
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${program}
       RESOLVED_DEPENDENCIES_VAR needed UNRESOLVED_DEPENDENCIES_VAR missing
       PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|gcc_s)\\.so")
  if(missing)
    message(FATAL_ERROR "libraries not found: ${missing}")
  endif()
  foreach(library ${needed})
    file(INSTALL ${library} DESTINATION ${CMAKE_INSTALL_PREFIX}/${place} FOLLOW_SYMLINK_CHAIN)
  endforeach()
]] COMPONENT bundled EXCLUDE_FROM_ALL)

set(CPACK_PACKAGE_NAME clarinet)
set(CPACK_PACKAGE_VENDOR "Clarinet")
set(CPACK_PACKAGE_CONTACT "The Clarinet developers <clarinet@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "doctor for running .NET programs")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL clarinet bundled)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
string(TOLOWER ${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR} CPACK_SYSTEM_NAME)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Clarinet attaches to a live .NET process and says in plain
words why it is slow, leaking, hung or noisy, with the evidence.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/package.cmake)
include(CPack)
