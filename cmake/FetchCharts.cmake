# Run at build time: takes the chart library of the HTML report from the npm registry into TARGET. Without
# it the build goes on, and the tool says that it has no HTML report.
file(MAKE_DIRECTORY ${TARGET})
file(COPY ${SOURCE}/package.json ${SOURCE}/package-lock.json DESTINATION ${TARGET})
execute_process(
    COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=30000
    WORKING_DIRECTORY ${TARGET} TIMEOUT 120
    RESULT_VARIABLE failed OUTPUT_VARIABLE log ERROR_VARIABLE log)
set(library ${TARGET}/node_modules/echarts/dist/echarts.min.js)
if(failed OR NOT EXISTS ${library})
    message(WARNING "npm ci did not get the chart library: building without the HTML report. "
                    "Remove ${TARGET}/echarts.min.js to try again.\n${log}")
    file(WRITE ${TARGET}/echarts.min.js "")
else()
    configure_file(${library} ${TARGET}/echarts.min.js COPYONLY)
endif()
