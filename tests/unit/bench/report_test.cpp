#include "bench/report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace etc::test {
namespace {

BenchReport SomeReport() {
  BenchReport report;
  report.place = "NVIDIA H200";
  report.target = "sm_90a";
  report.graph = "decode";
  report.dims = {{"batch", 8}, {"max_pages", 9}};
  report.launches = 50;
  report.bytes_read = 2'300'000'000;
  report.bandwidth = Bandwidth{4.6e12, true};
  report.rows = {{"static", {0.8, 0.75, 1.25}, {{"logits", 1008, 0, true, true, {}}}},
                 {"kernels", {1.0, 0.9, 1.5}, {{"logits", 1008, 0, true, false, 0.00125}}}};
  return report;
}

TEST_CASE("the floor is the bytes over the bandwidth") {
  BenchReport report = SomeReport();
  CHECK(report.FloorMs().value() == doctest::Approx(0.5));
  report.bandwidth.reset();
  CHECK(!report.FloorMs());
}

TEST_CASE("the table has the ratio to the first row and the share of the floor") {
  CHECK(BenchTable(SomeReport()) ==
        "@decode on NVIDIA H200, batch = 8, max_pages = 9; 50 launches of each, by turns\n"
        "2300.0 MB to read; streaming reads 4.60 TB/s (measured in this run); floor 0.5000 ms\n"
        "schedule  median ms      least   greatest   ratio  of floor  outputs\n"
        "static       0.8000     0.7500     1.2500   1.000     62.5%\n"
        "kernels      1.0000     0.9000     1.5000   1.250     50.0%  not equal: %logits (relative "
        "L2 0.0013)\n");
}

TEST_CASE("without a floor its column is left out, and what is not finite is named") {
  BenchReport report = SomeReport();
  report.bytes_read.reset();
  report.bandwidth = Bandwidth{4e12, false};
  report.rows[0].outputs[0].not_finite = 7;
  report.rows.pop_back();
  CHECK(BenchTable(report) ==
        "@decode on NVIDIA H200, batch = 8, max_pages = 9; 50 launches of each, by turns\n"
        "streaming reads 4.00 TB/s (given)\n"
        "schedule  median ms      least   greatest   ratio   outputs\n"
        "static       0.8000     0.7500     1.2500   1.000   not finite: %logits (7 of 1008)\n");
}

TEST_CASE("JSON has the same, and leaves out what is not known") {
  auto json = nlohmann::json::parse(BenchJson(SomeReport()));
  CHECK(json["floor_ms"].get<double>() == doctest::Approx(0.5));
  CHECK(json["bandwidth"]["measured"] == true);
  CHECK(json["dims"]["batch"] == 8);
  auto row = json["schedules"][1];
  CHECK(row["name"] == "kernels");
  CHECK(row["ratio"].get<double>() == doctest::Approx(1.25));
  CHECK(row["share_of_floor"].get<double>() == doctest::Approx(0.5));
  CHECK(row["outputs"][0]["equal"] == false);
  CHECK(row["outputs"][0]["relative_l2"] == 0.00125);
  CHECK(!json["schedules"][0]["outputs"][0].contains("relative_l2"));

  BenchReport bare = SomeReport();
  bare.bytes_read.reset();
  bare.bandwidth.reset();
  json = nlohmann::json::parse(BenchJson(bare));
  CHECK(!json.contains("floor_ms"));
  CHECK(!json.contains("bandwidth"));
  CHECK(!json.contains("bytes_read"));
  CHECK(!json["schedules"][0].contains("share_of_floor"));
}

}  // namespace
}  // namespace etc::test
