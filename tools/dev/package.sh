# ./dev package: the .deb and the .tar.gz, into build/packages/.
need_packages "${PACKAGES_BUILD[@]}" "${PACKAGES_PACKAGE[@]}" libcmocka-dev
need_npm
configure_and_build release
say "packing"
(cd build && cpack --config CPackConfig.cmake >packages.log 2>&1) || {
    cat build/packages.log >&2
    fail "cpack failed"
}
ls build/packages/*.deb build/packages/*.tar.gz
