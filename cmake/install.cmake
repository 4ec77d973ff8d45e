# What `cmake --install` puts where: headers, both libraries, the program, outcore.pc and the
# CMake package. tests/install builds C and C++ programs against the result.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/outcore" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILES_MATCHING PATTERN "*.h")
install(TARGETS outcore outcore_static EXPORT outcoreTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET outcore_cli)
    install(TARGETS outcore_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
    install(FILES docs/man/outcore.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
    install(FILES tools/completions/outcore.bash
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME outcore)
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/outcore")
install(EXPORT outcoreTargets NAMESPACE outcore:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/outcoreConfig.cmake.in
    "${PROJECT_BINARY_DIR}/outcoreConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/outcoreConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/outcoreConfig.cmake"
    "${PROJECT_BINARY_DIR}/outcoreConfigVersion.cmake" DESTINATION "${package_dir}")

# outcore.pc finds its prefix from where it lies, so an installed tree can be moved. A packager who
# gives absolute folders gets those.
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
foreach(kind LIBDIR INCLUDEDIR)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}}")
        set(OUTCORE_PC_${kind} "${CMAKE_INSTALL_${kind}}")
    else()
        set(OUTCORE_PC_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}}")
    endif()
endforeach()
if(IS_ABSOLUTE "${pc_dir}")
    set(OUTCORE_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH up "/prefix/${pc_dir}" "/prefix")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(OUTCORE_PC_PREFIX "\${pcfiledir}/${up}")
endif()
set(OUTCORE_PC_SODIUM "")
if(OUTCORE_ENCRYPTION)
    set(OUTCORE_PC_SODIUM " libsodium")
endif()
configure_file(cmake/outcore.pc.in "${PROJECT_BINARY_DIR}/outcore.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/outcore.pc" DESTINATION "${pc_dir}")
