# The parts of the HTML report, put into the binary: the page's own files and the chart library.
find_program(NPM npm)
set(page_source ${CMAKE_SOURCE_DIR}/src/report/html)
set(page_build ${CMAKE_BINARY_DIR}/html)
set(chart_library ${page_build}/echarts.min.js)
if(NPM)
    add_custom_command(
        OUTPUT ${chart_library}
        COMMAND ${CMAKE_COMMAND} -DNPM=${NPM} -DSOURCE=${page_source} -DTARGET=${page_build}
                -P ${CMAKE_SOURCE_DIR}/cmake/FetchCharts.cmake
        DEPENDS ${page_source}/package.json ${page_source}/package-lock.json ${CMAKE_SOURCE_DIR}/cmake/FetchCharts.cmake
        COMMENT "Fetching the chart library of the HTML report")
else()
    message(STATUS "npm is missing: building without the HTML report")
    set(chart_library ${page_build}/none.js)
    file(WRITE ${chart_library} "")
endif()

set(page_parts
    style ${page_source}/style.css
    charts ${chart_library}
    base_script ${page_source}/base.js
    tree_script ${page_source}/tree.js
    curves_script ${page_source}/curves.js
    compare_script ${page_source}/compare.js
    main_script ${page_source}/main.js)
set(assembly "    .section .rodata\n")
set(dependencies "")
while(page_parts)
    list(POP_FRONT page_parts part file)
    string(APPEND assembly
        "    .global tmaprobe_page_${part}, tmaprobe_page_${part}_end\n"
        "tmaprobe_page_${part}: .incbin \"${file}\"\ntmaprobe_page_${part}_end: .byte 0\n")
    list(APPEND dependencies ${file})
endwhile()
string(APPEND assembly "    .section .note.GNU-stack,\"\",%progbits\n")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/report_page.S CONTENT "${assembly}" @ONLY)
set_source_files_properties(${CMAKE_BINARY_DIR}/report_page.S PROPERTIES OBJECT_DEPENDS "${dependencies}")
add_library(tmaprobe_report_page STATIC ${CMAKE_BINARY_DIR}/report_page.S)
