# What `cmake --install` puts where, besides the program: the same as the Debian package has (cmake/package/debian.sh).
include(GNUInstallDirs)
install(TARGETS tmaprobe)
install(DIRECTORY events/ DESTINATION ${CMAKE_INSTALL_DATADIR}/tmaprobe/events)
install(FILES docs/dashboards/grafana.json docs/dashboards/alerts.yml DESTINATION ${CMAKE_INSTALL_DATADIR}/tmaprobe/dashboards)
install(FILES cmake/package/tmaprobe.service cmake/package/tmaprobe.timer DESTINATION lib/systemd/system)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The header for programs with regions: with CMake and with pkg-config, whatever the architecture.
add_subdirectory(include)
install(DIRECTORY include/tmaprobe DESTINATION include)
install(TARGETS tmaprobe_region EXPORT tmaprobe-region)
install(EXPORT tmaprobe-region NAMESPACE tmaprobe:: FILE tmaprobe-region-config.cmake
        DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tmaprobe-region)
install(FILES cmake/package/tmaprobe-region.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)

# The man page and the completions are what the program itself says of its options. A cross build needs an emulator
# (CMAKE_CROSSCOMPILING_EMULATOR) to ask it, and is installed without them otherwise.
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    message(STATUS "cross build without an emulator: no man page and no completions")
    return()
endif()
set(from_help "")
function(tmaprobe_from_help kind file destination)
    set(made ${CMAKE_BINARY_DIR}/help/${file})
    add_custom_command(OUTPUT ${made} DEPENDS tmaprobe VERBATIM
                       COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/help
                       COMMAND tmaprobe help --${kind} > ${made})
    install(FILES ${made} DESTINATION ${destination})
    set(from_help ${from_help} ${made} PARENT_SCOPE)
endfunction()
tmaprobe_from_help(man tmaprobe.1 ${CMAKE_INSTALL_MANDIR}/man1)
tmaprobe_from_help(bash tmaprobe ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
tmaprobe_from_help(zsh _tmaprobe ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
tmaprobe_from_help(fish tmaprobe.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
add_custom_target(tmaprobe_help ALL DEPENDS ${from_help})
