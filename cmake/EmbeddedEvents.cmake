# Puts every file of events/ into the binary, so that one file can be copied to a server.
file(GLOB_RECURSE event_files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/events ${CMAKE_SOURCE_DIR}/events/*)
list(SORT event_files)

set(assembly "    .section .rodata\n")
set(table "")
set(index 0)
set(dependencies "")
foreach(file IN LISTS event_files)
    string(APPEND assembly
        "name_${index}: .ascii \"${file}\"\nname_end_${index}:\n"
        "data_${index}: .incbin \"${CMAKE_SOURCE_DIR}/events/${file}\"\nend_${index}:\n")
    string(APPEND table
        "    .quad name_${index}, name_end_${index} - name_${index}, data_${index}, end_${index} - data_${index}\n")
    list(APPEND dependencies ${CMAKE_SOURCE_DIR}/events/${file})
    math(EXPR index "${index} + 1")
endforeach()
string(APPEND assembly
    "    .section .data.rel.ro,\"aw\"\n    .balign 8\n"
    "    .global tmaprobe_embedded_files\ntmaprobe_embedded_files:\n${table}"
    "    .section .rodata\n    .balign 8\n"
    "    .global tmaprobe_embedded_count\ntmaprobe_embedded_count: .quad ${index}\n"
    "    .section .note.GNU-stack,\"\",%progbits\n")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/embedded_events.S CONTENT "${assembly}" @ONLY)
set_source_files_properties(${CMAKE_BINARY_DIR}/embedded_events.S PROPERTIES OBJECT_DEPENDS "${dependencies}")
add_library(tmaprobe_embedded_events STATIC ${CMAKE_BINARY_DIR}/embedded_events.S)
