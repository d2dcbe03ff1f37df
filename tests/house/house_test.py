#!/usr/bin/env python3
"""The house rules hold for this tree, and a planted violation of each is found."""

import pathlib
import re
import tempfile
import unittest

import house
import messages

TREE = pathlib.Path(__file__).parents[2]


def planted(path, text):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return list(house.violations(folder))


class House(unittest.TestCase):
    def test_this_tree_is_in_order(self):
        self.assertEqual(list(house.violations(TREE)), [])

    def test_an_include_against_the_direction_is_found(self):
        self.assertTrue(planted("src/metrics/bad.cpp", '#include "record/record.h"\n'))
        self.assertTrue(planted("src/base/bad.h", '#include "machine/host.h"\n'))
        self.assertTrue(planted("src/report/bad.cpp", '  #  include "counters/source.h"\n'))
        self.assertTrue(planted("kernels/sha256/bad.cpp", '#include "experiments/run.h"\n'))

    def test_an_allowed_include_is_not(self):
        self.assertEqual(planted("src/report/good.cpp", '#include "record/record.h"\n#include <vector>\n'), [])

    def test_a_library_outside_its_room_is_found(self):
        self.assertTrue(planted("src/counters/bad.cpp", "#include <perfmon/pfmlib.h>\n"))
        self.assertTrue(planted("src/model/bad.cpp", "#include <llvm/MC/MCInst.h>\n"))
        self.assertTrue(planted("src/counters/bad.cpp", "#include <perf/evlist.h>\n"))
        self.assertTrue(planted("src/experiments/bad.cpp", "#include <hwloc.h>\n"))

    def test_json_is_no_type_inside_the_program(self):
        self.assertTrue(planted("src/report/bad.cpp", "#include <nlohmann/json.hpp>\n"))
        self.assertTrue(planted("src/record/json/bad.cpp", "#include <rapidjson/document.h>\n"))
        self.assertTrue(planted("src/report/bad.cpp", '#include "base/json/value.h"\n'))
        self.assertTrue(planted("src/record/record.h", '#include "base/json/read.h"\n'))
        self.assertEqual(planted("src/report/good.cpp", '#include "base/json/writer.h"\n'), [])
        self.assertEqual(planted("src/record/json/good.cpp", '#include "base/json/read.h"\n'), [])

    def test_a_long_file_is_found(self):
        self.assertTrue(planted("src/base/long.cpp", "int x;\n" * (house.LONGEST_FILE + 1)))

    def test_a_file_left_in_the_root_folder_is_found(self):
        self.assertTrue(planted("scratch.c", "int x;\n"))
        self.assertEqual(planted("LICENSE", "MIT\n"), [])

    def test_the_name_of_a_registry_is_found(self):
        self.assertTrue(planted("docs/bad.md", "fetch it from https://py" + "pi.org/simple\n"))

    def test_every_warning_is_in_the_table_of_messages_and_no_other(self):
        self.assertEqual(list(messages.problems(TREE)), [])

    def test_what_a_page_points_to_is_there(self):
        for page in [TREE / "README.md", *(TREE / "docs").glob("*.md")]:
            for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
                self.assertTrue((page.parent / target).exists(), f"{page.name} points to {target}")

    def test_the_build_links_rooms_as_the_table_says(self):
        """CMakeLists.txt repeats the direction for the linker; it must not allow more than the table."""
        cmake = (TREE / "CMakeLists.txt").read_text()
        rooms = dict(re.findall(r"tmaprobe_room\((\w+)([^)]*)\)", cmake))
        self.assertEqual(set(rooms) | {"kernels"}, set(house.ROOMS))
        for room, rest in rooms.items():
            uses = re.search(r"USES ([\w ]+?)(?: LINKS|$)", rest)
            named = set(uses.group(1).split()) if uses else set()
            self.assertLessEqual(named, house.ROOMS[room], room)


if __name__ == "__main__":
    unittest.main()
