#include <algorithm>
#include <string>
#include <string_view>

#include "report/formats.h"
#include "report/markdown_html.h"
#include "report/regions.h"
#include "report/view.h"

// The parts of the page as cmake/HtmlReport.cmake put them into the binary.
extern "C" {
extern const char tmaprobe_page_style[], tmaprobe_page_style_end[];
extern const char tmaprobe_page_charts[], tmaprobe_page_charts_end[];
extern const char tmaprobe_page_base_script[], tmaprobe_page_base_script_end[];
extern const char tmaprobe_page_tree_script[], tmaprobe_page_tree_script_end[];
extern const char tmaprobe_page_curves_script[], tmaprobe_page_curves_script_end[];
extern const char tmaprobe_page_compare_script[], tmaprobe_page_compare_script_end[];
extern const char tmaprobe_page_main_script[], tmaprobe_page_main_script_end[];
}

namespace tmaprobe::report {
namespace {

std::string_view part(const char* begin, const char* end) { return {begin, static_cast<std::size_t>(end - begin)}; }

std::string script(std::string_view code) { return "<script>\n" + std::string(code) + "</script>\n"; }

/// The reports as headings, sentences and tables, which need no script.
std::string without_script(const Records& records) {
    constexpr std::size_t most = 30;  // a page of hundreds would be mostly this
    const Records shown(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(std::min(most, records.size())));
    std::string html = "<noscript><main><p>Without JavaScript there are no charts; this is the same in tables.</p>\n" +
                       markdown_html(write_markdown(shown));
    if (records.size() > most) html += "<p>and " + std::to_string(records.size() - most) + " more records</p>\n";
    return html + "</main></noscript>";
}

}  // namespace

std::string write_html(const Records& records, const WhereView& view) {
    // The policy is what "no network" means to a browser: nothing can be loaded, whatever a record says.
    std::string page =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
        "style-src 'unsafe-inline'; img-src data:\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>tmaprobe report</title>\n<style>\n";
    page += part(tmaprobe_page_style, tmaprobe_page_style_end);
    page += "</style>\n</head>\n<body>\n" + without_script(records) + "\n<main id=\"page\"></main>\n" +
            region_sections(records) + where_sections(records, view);
    page += "<script type=\"application/json\" id=\"data\">" + page_view(records) + "</script>\n";
    page += script(part(tmaprobe_page_charts, tmaprobe_page_charts_end));
    page += script(part(tmaprobe_page_base_script, tmaprobe_page_base_script_end));
    page += script(part(tmaprobe_page_tree_script, tmaprobe_page_tree_script_end));
    page += script(part(tmaprobe_page_curves_script, tmaprobe_page_curves_script_end));
    page += script(part(tmaprobe_page_compare_script, tmaprobe_page_compare_script_end));
    page += script(part(tmaprobe_page_main_script, tmaprobe_page_main_script_end));
    return page + "</body>\n</html>\n";
}

}  // namespace tmaprobe::report
