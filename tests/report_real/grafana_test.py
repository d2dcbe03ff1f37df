#!/usr/bin/python3
"""The board against Grafana's own published types (npm: @grafana/schema), by the TypeScript compiler."""
import subprocess
import sys
import unittest

import real

NODE = real.HERE.parent.parent / "build" / "report_real_node" / "node_modules"


def complaints(board):
    """What the compiler says of a board as a value of Grafana's type Dashboard."""
    source = NODE.parent / "board.ts"
    source.write_text(f"import type {{ Dashboard }} from '@grafana/schema';\nexport const board: Dashboard = {board};\n")
    done = subprocess.run(["node", NODE / "typescript" / "bin" / "tsc", "--noEmit", "--strict", "--skipLibCheck", "--module", "esnext",
                           "--moduleResolution", "bundler", "--target", "es2022", source], capture_output=True, text=True, cwd=NODE.parent)
    return done.stdout if done.returncode else ""


class Board(unittest.TestCase):
    board = (real.options.docs / "dashboards" / "grafana.json").read_text()

    def test_it_is_a_dashboard_for_grafana(self):
        self.assertEqual(complaints(self.board), "")

    def test_the_check_can_fail(self):
        self.assertIn("schemaVersoin", complaints(self.board.replace('"schemaVersion"', '"schemaVersoin"')))


if __name__ == "__main__":
    if not (NODE / "typescript").exists() or not (NODE / "@grafana" / "schema").exists():
        real.skip("Grafana's types and the TypeScript compiler are not installed")
    unittest.main(argv=[sys.argv[0], *real.rest], verbosity=2)
