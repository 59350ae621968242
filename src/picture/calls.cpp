#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/printer.h"
#include "picture/picture.h"

namespace etc {
namespace {

using Kind = ProgramMark::Kind;

class CallPicture {
 public:
  CallPicture(const Module& module, const CallProgram& program, Picture& picture)
      : module_(module), program_(program), picture_(picture) {}

  void Run(const std::string& name) {
    picture_.clusters.push_back({name, 0});
    size_t whole = picture_.clusters.size() - 1;
    size_t cluster = whole;
    for (const ProgramMark& mark : program_.order) {
      if (mark.kind == Kind::Enter) {
        picture_.clusters.push_back(
            {fmt::format("repeat {} in {}..{}", module_.symbols[mark.var].name,
                         Print(module_, mark.lo), Print(module_, mark.hi)),
             cluster});
        cluster = picture_.clusters.size() - 1;
      } else if (mark.kind == Kind::Leave) {
        cluster = picture_.clusters[cluster].parent;
      } else {
        nodes_.push_back(picture_.nodes.size());
        picture_.nodes.push_back({Label(program_.calls[mark.other]), cluster});
      }
    }
    for (EventId event : program_.events) {
      AddEvent(event, whole);
    }
  }

 private:
  /// The maps with which a step waits for or notifies the event, a line each; empty when it does
  /// not.
  std::string Maps(const std::string& word, const std::vector<TaskEdge>& refs,
                   EventId event) const {
    std::string text;
    for (const TaskEdge& ref : refs) {
      if (ref.ref->event == event) {
        std::vector<std::string> coords;
        for (SymbolId coord : ref.coords) {
          coords.push_back(module_.symbols[coord].name);
        }
        text +=
            fmt::format("\n{} ({}) => {}", word, fmt::join(coords, ", "), Print(module_, *ref.ref));
      }
    }
    return text;
  }

  std::string Label(const ProgramCall& step) const {
    std::vector<std::string> axes;
    for (const Axis& axis : step.axes) {
      std::string lo = axis.lo ? Print(module_, axis.lo) + ".." : "";
      axes.push_back(
          fmt::format("{}: {}{}", module_.symbols[axis.var].name, lo, Print(module_, axis.hi)));
    }
    return fmt::format("@{}\n({})", step.device->name, fmt::join(axes, ", "));
  }

  std::string Head(EventId id) const {
    const Event& event = module_.events[id];
    std::vector<std::string> dims;
    for (const EventDim& dim : event.dims) {
      std::string name = dim.var ? module_.symbols[dim.var].name + ": " : "";
      dims.push_back(name + Print(module_, dim.extent));
    }
    return fmt::format("%{}{}\ncount {}", event.name,
                       dims.empty() ? "" : fmt::format("[{}]", fmt::join(dims, ", ")),
                       Print(module_, event.count));
  }

  void AddEvent(EventId event, size_t whole) {
    std::vector<std::pair<size_t, std::string>> sources;
    std::vector<std::pair<size_t, std::string>> sinks;
    for (size_t i = 0; i < program_.calls.size(); ++i) {
      if (std::string maps = Maps("notify", program_.calls[i].notifies, event); !maps.empty()) {
        sources.push_back({i, maps});
      }
      if (std::string maps = Maps("wait", program_.calls[i].waits, event); !maps.empty()) {
        sinks.push_back({i, maps});
      }
    }
    for (const auto& [source, notify] : sources) {
      for (const auto& [sink, wait] : sinks) {
        picture_.edges.push_back(
            {nodes_[source], nodes_[sink], Head(event) + notify + wait, source >= sink});
      }
    }
    if (!sources.empty() && !sinks.empty()) {
      return;
    }
    size_t node = picture_.nodes.size();
    picture_.nodes.push_back({Head(event), whole, true});
    for (const auto& [source, notify] : sources) {
      picture_.edges.push_back({nodes_[source], node, notify.substr(1)});
    }
    for (const auto& [sink, wait] : sinks) {
      picture_.edges.push_back({node, nodes_[sink], wait.substr(1)});
    }
  }

  const Module& module_;
  const CallProgram& program_;
  Picture& picture_;
  std::vector<size_t> nodes_;  // by step
};

}  // namespace

void AddCalls(const Module& module, const CallProgram& program, const std::string& name,
              Picture& picture) {
  CallPicture(module, program, picture).Run(name);
}

}  // namespace etc
