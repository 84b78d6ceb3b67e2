# ./dev build: the tool, the libraries and the unit tests, with warnings as errors.
need_packages "${PACKAGES_BUILD[@]}" libcmocka-dev
need_npm
configure_and_build release
say "done: build/clarinet"
