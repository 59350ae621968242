// Where each wait of a kernel with a watchdog stands in program order, and what is said of it when
// it does not end.

#include <fmt/format.h>

#include "emit/raise/passes.h"
#include "ir/overloaded.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

/// A node, counted from 1 among those beside it, and the repeat that it is.
struct PathStep {
  size_t node = 0;
  const Repeat* repeat = nullptr;
};

class WaitWorder {
 public:
  WaitWorder(RaisedKernel& raised, MessageTexts& texts)
      : raised_(raised), module_(raised.module), texts_(texts) {}

  void Word(const std::vector<NodeId>& nodes) {
    path_.push_back({});
    Block(nodes);
    path_.pop_back();
  }

 private:
  /// The cases of a dispatch count as nodes of the block around it.
  void Block(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      path_.back() = {path_.back().node + 1, nullptr};
      std::visit(Overloaded{
                     [&](const Share&) { Word(raised_.shares.at(id)); },
                     [&](const Dispatch& dispatch) {
                       Block(dispatch.cases);
                       if (dispatch.capacity) {
                         Word(raised_.queues.at(id));
                       }
                     },
                     [&](const Repeat& repeat) {
                       path_.back().repeat = &repeat;
                       Word(repeat.body);
                     },
                     [](const OneOf<BufferDecl, EventDecl> auto&) {},
                     [](const OneOf<CallNode, Region> auto&) { ETC_CHECK(!"a graph's node"); },
                 },
                 module_.nodes[id]);
    }
  }

  void Word(RaisedShare& share) {
    share.place = Place();
    if (share.share.awaits_peers) {
      share.watched_peers = PeersMessage(share);
    }
    for (auto* waits : {&share.range_waits, &share.enter_waits, &share.waits, &share.after_waits}) {
      for (RaisedSignal& wait : *waits) {
        wait.watched = Message(share, wait, waits == &share.waits || waits == &share.after_waits);
      }
    }
  }

  /// Whoever waits for a place comes behind those who wait for an event: these may be why nothing
  /// is pushed.
  void Word(RaisedQueue& queue) {
    path_.back() = {path_.back().node + 1, nullptr};
    queue.place = Place();
    std::string callees;
    for (NodeId id : queue.pushed) {
      callees += fmt::format("{}@{}", callees.empty() ? "" : ", ",
                             raised_.devices[raised_.shares.at(id).device].device.name);
    }
    WatchMessage& message = queue.watched.emplace();
    message.sm = true;
    std::string who = "SM {}" + Iterations(message);
    constexpr size_t kOthers = 4;  // the SM, the place, how many tasks were pushed, and how many
                                   // are, or may be
    if (message.variables.size() + kOthers >= kRecordValues) {
      who = "SM {}";
      message.variables.clear();
    }
    message.text = AddMessage(
        texts_,
        fmt::format("kernel @{}: {} waits for place {{}} of the queue of {}, to which {{}} "
                    "of {}{{}} tasks were pushed, and nothing has happened for {} s",
                    raised_.kernel.name, who, callees, queue.counts_pushes ? "at most " : "",
                    raised_.kernel.watchdog->seconds));
  }

  /// The iterations around: their values in the message, and the words for them.
  std::string Iterations(WatchMessage& message) const {
    std::string words;
    for (const PathStep& step : path_) {
      if (step.repeat != nullptr) {
        words += fmt::format(", {} = {{}}", module_.symbols[step.repeat->var].name);
        message.variables.push_back(step.repeat->var);
      }
    }
    return words;
  }

  /// A number of at most 60 bits: a node, an iteration, a node inside of it, …
  std::vector<OrderPart> Place() const {
    constexpr int kBits[] = {10, 16, 8, 16, 2};
    constexpr size_t kLevels = 5;
    std::vector<OrderPart> parts;
    int shift = 60;
    auto add = [&](OrderPart part) {
      if (parts.size() < kLevels) {
        int bits = kBits[parts.size()];
        shift -= bits;
        part.most = (1 << bits) - 1;
        part.shift = shift;
        parts.push_back(part);
      }
    };
    for (const PathStep& step : path_) {
      add({step.node, nullptr, 0, 0});
      if (step.repeat != nullptr) {
        add({step.node, step.repeat, 0, 0});
      }
    }
    return parts;
  }

  /// Of the handshake, by an SM before its tasks. Behind the SM and the iterations come the ranks,
  /// a bit for each, and the number of the launch.
  WatchMessage PeersMessage(const RaisedShare& share) const {
    WatchMessage message;
    message.sm = true;
    const std::string callee = "@" + raised_.devices[share.device].device.name;
    std::string who = callee + ", before its tasks on SM {}" + Iterations(message);
    constexpr size_t kOthers = 5;  // the SM, the ranks, the launch, and two that are not said
    if (message.variables.size() + kOthers >= kRecordValues) {
      who = callee + ", before its tasks on SM {}";
      message.variables.clear();
    }
    message.text =
        AddMessage(texts_, fmt::format("kernel @{}: {}, waits for {{ranks}} not begun "
                                       "launch {{}}, and nothing has happened for {} s",
                                       raised_.kernel.name, who, raised_.kernel.watchdog->seconds));
    return message;
  }

  /// `task`: of one task; else of an SM before its tasks.
  WatchMessage Message(const RaisedShare& share, const RaisedSignal& wait, bool task) {
    const Event& event = module_.events[wait.ref.event];
    WatchMessage message;
    const std::string callee = "@" + raised_.devices[share.device].device.name;
    std::string who = callee;
    if (task) {
      for (const Axis& axis : share.share.axes) {
        message.variables.push_back(axis.var);
      }
      if (!share.share.axes.empty()) {
        who += ", task " + MessagePlaces(share.share.axes.size());
      }
    } else {
      who += ", before its tasks on SM {}";
      message.sm = true;
    }
    who += Iterations(message) + ",";
    constexpr size_t kCounts = 2;  // the notifies that came, and those that are awaited
    size_t values = message.variables.size() + (message.sm ? 1 : 0);
    // In the place of the last value, waits agree which of them is the first.
    if (values + wait.ref.indices.size() + kCounts >= kRecordValues) {
      who = callee;
      message.sm = false;
      message.variables.clear();
    }
    message.text = AddMessage(
        texts_,
        fmt::format("kernel @{}: {} waits for %{}{}, of which {{}} of {{}} notifies came, "
                    "and nothing has happened for {} s",
                    raised_.kernel.name, who, event.name, MessagePlaces(wait.ref.indices.size()),
                    raised_.kernel.watchdog->seconds));
    return message;
  }

  RaisedKernel& raised_;
  const Module& module_;
  MessageTexts& texts_;
  std::vector<PathStep> path_;  // to the node that is looked at
};

}  // namespace

void WordWaits(RaisedModule& raised) {
  for (RaisedKernel& kernel : raised.kernels) {
    // Launches wait for nothing.
    if (kernel.kernel.watchdog && kernel.kernel.schedule != ScheduleKind::Kernels) {
      WaitWorder(kernel, raised.wait_texts).Word(kernel.kernel.body);
    }
  }
}

}  // namespace etc
