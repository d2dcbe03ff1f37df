# The parts of the HTML report, put into the binary: the page's own files and the chart library.
set(page_source ${CMAKE_SOURCE_DIR}/src/report/html)
set(chart_library ${CMAKE_SOURCE_DIR}/third_party/echarts/echarts.js)
file(STRINGS ${CMAKE_SOURCE_DIR}/third_party/echarts/SHA256SUMS expected_checksum LIMIT_COUNT 1)
string(REGEX MATCH "^[0-9a-f]+" expected_checksum "${expected_checksum}")
file(SHA256 ${chart_library} chart_checksum)
if(NOT chart_checksum STREQUAL expected_checksum)
    message(FATAL_ERROR "third_party/echarts/echarts.js is not the file that SHA256SUMS names: "
                        "restore it from the repository, or make both anew with third_party/echarts/bundle.sh")
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
