#include "bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace etc {
namespace {

using Json = nlohmann::ordered_json;

std::string DimsText(const BenchReport& report) {
  std::string text;
  for (const auto& [name, value] : report.dims) {
    text += fmt::format(", {} = {}", name, value);
  }
  return text;
}

std::string FloorText(const BenchReport& report) {
  std::string text;
  if (report.bytes_read) {
    text = fmt::format("{:.1f} MB to read", static_cast<double>(*report.bytes_read) / 1e6);
  }
  if (report.bandwidth) {
    text += fmt::format("{}streaming reads {:.2f} TB/s ({})", text.empty() ? "" : "; ",
                        report.bandwidth->bytes_per_second / 1e12,
                        report.bandwidth->measured ? "measured in this run" : "given");
  }
  if (auto floor = report.FloorMs()) {
    text += fmt::format("; floor {:.4f} ms", *floor);
  }
  return text.empty() ? "" : text + "\n";
}

/// A short description of the outputs.
std::string OutputsText(const BenchRow& row, bool is_first) {
  std::string differing, odd;
  for (const BenchOutput& output : row.outputs) {
    if (!output.equal) {
      differing += fmt::format("{}%{}", differing.empty() ? "" : ", ", output.name);
      if (output.relative_l2) {
        differing += fmt::format(" (relative L2 {:.2g})", *output.relative_l2);
      }
    }
    if (output.not_finite > 0) {
      odd += fmt::format("{}%{} ({} of {})", odd.empty() ? "" : ", ", output.name,
                         output.not_finite, output.elements);
    }
  }
  std::string text = is_first            ? ""
                     : differing.empty() ? "equal in every bit"
                                         : "not equal: " + differing;
  if (!odd.empty()) {
    text += fmt::format("{}not finite: {}", text.empty() ? "" : "; ", odd);
  }
  return text;
}

}  // namespace

std::optional<double> BenchReport::FloorMs() const {
  if (!bytes_read || !bandwidth) {
    return std::nullopt;
  }
  return static_cast<double>(*bytes_read) / bandwidth->bytes_per_second * 1e3;
}

std::string BenchTable(const BenchReport& report) {
  std::string text = fmt::format("@{} on {}{}; {} launches of each, by turns\n", report.graph,
                                 report.place, DimsText(report), report.launches);
  text += FloorText(report);
  size_t width = std::string("schedule").size();
  for (const BenchRow& row : report.rows) {
    width = std::max(width, row.name.size());
  }
  auto floor = report.FloorMs();
  text += fmt::format("{:<{}} {:>10} {:>10} {:>10} {:>7} {}  outputs\n", "schedule", width,
                      "median ms", "least", "greatest", "ratio", floor ? " of floor" : "");
  for (const BenchRow& row : report.rows) {
    const Spread& ms = row.ms;
    std::string share = floor ? fmt::format("{:>8.1f}%", 100 * *floor / ms.median) : "";
    text += fmt::format("{:<{}} {:>10.4f} {:>10.4f} {:>10.4f} {:>7.3f} {}  {}", row.name, width,
                        ms.median, ms.least, ms.greatest, ms.median / report.rows[0].ms.median,
                        share, OutputsText(row, &row == &report.rows[0]));
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text;
}

std::string BenchJson(const BenchReport& report) {
  auto floor = report.FloorMs();
  Json rows = Json::array();
  for (const BenchRow& row : report.rows) {
    Json outputs = Json::array();
    for (const BenchOutput& output : row.outputs) {
      Json entry = {{"name", output.name},
                    {"finite", output.not_finite == 0},
                    {"not_finite", output.not_finite},
                    {"equal", output.equal}};
      if (output.relative_l2) {
        entry["relative_l2"] = *output.relative_l2;
      }
      outputs.push_back(std::move(entry));
    }
    Json entry = {{"name", row.name},
                  {"median_ms", row.ms.median},
                  {"least_ms", row.ms.least},
                  {"greatest_ms", row.ms.greatest},
                  {"ratio", row.ms.median / report.rows[0].ms.median}};
    if (floor) {
      entry["share_of_floor"] = *floor / row.ms.median;
    }
    entry["outputs"] = std::move(outputs);
    rows.push_back(std::move(entry));
  }
  Json json = {{"place", report.place},
               {"target", report.target},
               {"graph", report.graph},
               {"dims", Json(report.dims)},
               {"launches", report.launches}};
  if (report.bytes_read) {
    json["bytes_read"] = *report.bytes_read;
  }
  if (report.bandwidth) {
    json["bandwidth"] = {{"bytes_per_second", report.bandwidth->bytes_per_second},
                         {"measured", report.bandwidth->measured}};
  }
  if (floor) {
    json["floor_ms"] = *floor;
  }
  json["schedules"] = std::move(rows);
  return json.dump(2) + "\n";
}

}  // namespace etc
