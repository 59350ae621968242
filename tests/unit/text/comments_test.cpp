#include "parse.h"

namespace etc {
namespace {

TEST_CASE("comments stay where they stand") {
  std::string text =
      "// The licence.\n"
      "\n"
      "// What this is.\n"
      "etir 1;  // the version\n"
      "\n"
      "const a = 1;  // one\n"
      "// two\n"
      "const b = 2;\n"
      "\n"
      "// A device function.\n"
      "device @f(%x: f32[4], %y: out f32[4]) tasks (i: 4) {  // its tasks\n"
      "  // First.\n"
      "  impl sm_90a \"f.cuh\" F;  // tuned\n"
      "  let v = 1;  // one\n"
      "\n"
      "  // Then a loop.\n"
      "  for (k: 4) {  // of four\n"
      "    // alone in it\n"
      "    %y[k] = %x[k];\n"
      "  }  // end of the loop\n"
      "  if (v > 0) %y[i] = 0.0;  // flat\n"
      "  // At the end of the block.\n"
      "}\n"
      "\n"
      "// After the function.\n"
      "\n"
      "graph @g(%x: f32[4], %y: out f32[4]) {\n"
      "  event %e[4] count 1;  // counted\n"
      "  // A call.\n"
      "  call @f(%x, %y)  // with clauses\n"
      "      // before the wait\n"
      "      wait (i) => %e[i]  // the wait\n"
      "      notify (i) => %e[i];  // the notify\n"
      "\n"
      "  repeat l in 0..4 {\n"
      "    // empty\n"
      "  }\n"
      "}\n"
      "\n"
      "// The end.\n";
  CHECK(Formatted(text) == text);
}

TEST_CASE("comments of parameters keep a line for each") {
  std::string text =
      "etir 1;\n"
      "\n"
      "graph @g(\n"
      "  %x: f32[4],  // read\n"
      "  // written\n"
      "  %y: out f32[4]  // here\n"
      ") {  // start\n"
      "}\n";
  CHECK(Formatted(text) == text);
}

TEST_CASE("comments of kernels stay") {
  std::string text =
      "etir 1;\n"
      "\n"
      "device @f(%x: f32[4]) tasks (i: 4) {\n"
      "}\n"
      "\n"
      "kernel @k(%x: f32[4]) of @g static {\n"
      "  launch consumers 8 shared 0;  // launch\n"
      "  // The events.\n"
      "  event %e[4] count 1;\n"
      "\n"
      "  // Every SM.\n"
      "  on sm {\n"
      "    // A share.\n"
      "    share (i: 4) from 0 {\n"
      "      // before\n"
      "      wait %e[i];\n"
      "      run @f[i](%x);\n"
      "      notify %e[i];  // after\n"
      "    }\n"
      "  }\n"
      "}\n";
  CHECK(Formatted(text) == text);
}

TEST_CASE("a comment behind a full line moves, and stays inside of its construct") {
  const std::string full = "// " + std::string(90, 'x');
  const std::string text =
      Formatted("etir 1;\nconst first_constant = 1; " + full + "1\n\nconst second = 2;  // fits\n" +
                "device @f(%x: f32[4], " + full + "2\n%y: out f32[4] " + full +
                "3\n) tasks (i: 4) { " + full + "4\nlet v = select(i == 0, 1.0, 2.0); " + full +
                "5\nfor (k: 4) { " + full + "6\n%y[k] = %x[k]; " + full + "7\n} " + full +
                "8\n}\n" + "graph @g(%x: f32[4], %y: out f32[4]) { " + full +
                "9\nevent %e[4] count 1;\n" + "call @f(%x, %y) " + full + "10\nwait (i) => %e[i] " +
                full + "11\nnotify (i) => %e[i]; " + full + "12\n}\n");
  CHECK(text ==
        "etir 1;\n" + full + "1\nconst first_constant = 1;\n\nconst second = 2;  // fits\n\n" +
            "device @f(\n  " + full + "2\n  %x: f32[4],\n  " + full +
            "3\n  %y: out f32[4]\n) tasks (i: 4) {\n  " + full + "4\n  " + full +
            "5\n  let v = select(i == 0, 1.0, 2.0);\n  for (k: 4) {\n    " + full + "6\n    " +
            full + "7\n    %y[k] = %x[k];\n  }  " + full + "8\n}\n\n" +
            "graph @g(%x: f32[4], %y: out f32[4]) {\n  " + full +
            "9\n  event %e[4] count 1;\n  call @f(%x, %y)\n      " + full + "10\n      " + full +
            "11\n      wait (i) => %e[i]\n      " + full + "12\n      notify (i) => %e[i];\n}\n");
  CHECK(Formatted(text) == text);
}

TEST_CASE("no comment is lost, wherever it stands") {
  std::string text = Formatted(
      "etir // c1\n1 // c2\n; // c3\nconst // c4\na // c5\n= // c6\n1 // c7\n+ 2 // c8\n;\n"
      "device // c9\n@f // c10\n( // c11\n%x // c12\n: f32[ // c13\n4] // c14\n) // c15\n"
      "tasks // c16\n(i: // c17\n4) // c18\n{ // c19\nfor // c20\n(k: 4) // c21\n{ // c22\n"
      "let v // c23\n= k; // c24\n} // c25\n} // c26\n// c27");
  for (int i = 1; i <= 27; ++i) {
    std::string comment = "// c" + std::to_string(i) + "\n";
    INFO(text);
    CHECK(text.find(comment) != std::string::npos);
  }
}

TEST_CASE("empty lines are kept, but one at a time and not at the edges of a block") {
  CHECK(Formatted(
            "etir 1;\n\n\n\nconst a = 1;\nconst b = 2;\n\nconst c = 3;\n"
            "graph @g(%x: f32[1]) {\n\n  event %e count 1;\n\n\n  event %f count 1;\n\n}\n\n\n") ==
        "etir 1;\n\nconst a = 1;\nconst b = 2;\n\nconst c = 3;\n\n"
        "graph @g(%x: f32[1]) {\n  event %e count 1;\n\n  event %f count 1;\n}\n");
}

TEST_CASE("empty lines inside a construct go") {
  CHECK(Formatted("etir 1;\nconst a =\n\n1 +\n\n2;\nconst b = 1;\n") ==
        "etir 1;\nconst a = 1 + 2;\nconst b = 1;\n");
  CHECK(Formatted(
            "etir 1;\ngraph @g(\n\n%x: f32[1])\n\n{\nevent\n\n%e count 1;\nevent %f count 1;\n}") ==
        "etir 1;\n\ngraph @g(%x: f32[1]) {\n  event %e count 1;\n  event %f count 1;\n}\n");
}

TEST_CASE("line ends of other systems are read") {
  CHECK(Formatted("etir 1;\r\n\r\nconst a = 1;  // one\r\n") ==
        "etir 1;\n\nconst a = 1;  // one\n");
}

}  // namespace
}  // namespace etc
