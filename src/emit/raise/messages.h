// What debug checks and the watchdog of an artifact say. A message has `{}` for each value that a
// failure leaves behind, and goes by its place in a list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/module.h"

namespace etc {

/// The values that the record of a failure has room for, in kernels/engine/checks.cuh.
inline constexpr size_t kRecordValues = 12;

/// The messages, and the number of one of them. Equal texts have one number.
using MessageTexts = std::vector<std::string>;
using MessageId = size_t;
MessageId AddMessage(MessageTexts& texts, const std::string& text);

/// `[{}, {}]` for so many indices, and nothing for none.
std::string MessagePlaces(size_t count);

/// An index of a tensor, by its axis.
using TensorAxis = std::pair<TensorId, size_t>;

/// How a message says which element it is about.
enum class ElementPlace : uint8_t { Indices, Number, Unsaid };

/// What checks of a tensor's elements say, each where there is such a check.
struct ElementMessages {
  ElementPlace place = ElementPlace::Indices;
  std::optional<MessageId> range = {};
  std::optional<MessageId> monotone = {};
  std::optional<MessageId> distinct = {};
  std::optional<MessageId> counts = {};
  std::map<TensorAxis, MessageId> bounds = {};  // indices of what the bounds of the range read
};

/// What checks in a generated body say.
struct BodyMessages {
  bool tasks = false;  // each message says of which task it is
  std::map<TensorAxis, MessageId> indices = {};
  std::map<TensorAxis, MessageId> remote_indices = {};  // of an element at a peer
  std::map<TensorId, MessageId> peers = {};             // whose element it is
  std::map<TensorId, ElementMessages> elements = {};    // of computed parameters
  std::map<const TopK*, MessageId> ranks = {};          // of too few elements
  std::map<ExprId, MessageId> divisors = {};
  std::map<ExprId, MessageId> shifts = {};
};

/// What checks of the elements that a wait or a notify names say.
struct SignalMessages {
  std::vector<MessageId> indices = {};
  MessageId peer = 0;   // of a notify at a peer
  MessageId count = 0;  // of a wait
};

/// A part of the number that says where a wait stands in program order: where a node stands among
/// those beside it, or an iteration of a repeat.
struct OrderPart {
  size_t node;
  const Repeat* repeat;  // null: it is the node
  int64_t most;          // larger values count as this one
  int shift;
};

/// What a watched wait says, and the values in it in front of the event's indices.
struct WatchMessage {
  MessageId text;
  bool sm = false;  // first, the SM
  std::vector<SymbolId> variables = {};
};

}  // namespace etc
