// The one walk over the body of a device function: what a task does, in the order in which it does
// it, with the scopes, ranges and conditions around it. Whoever wants to know what bodies read,
// write or cost derives from it and says what each step means to him.
#pragma once

#include <functional>
#include <vector>

#include "ir/module.h"

namespace etc {

/// What an axis is of. The values of a `topk` are read for each of its ranks anew.
enum class AxisOf { For, Scan, Ranks, Elements, Reduction };

/// One side of a choice, which runs only where the condition has the wanted value: of an `if`, or
/// of an `&&`, `||` or `select` inside of an expression.
struct BodySide {
  ExprId condition;
  bool wanted;
  bool of_statement;  // of an `if`
};

/// An element that is read or written.
struct BodyElement {
  enum class Use {
    Read,
    ReadToAdd,  // by a `+=`, which writes the same element next
    Write
  };
  Use use;
  TensorId tensor;
  const std::vector<ExprId>& indices;
  SourceRange range;  // of the expression that reads, or the statement that writes
  ExprId peer = {};   // whose element it is; absent: that of the own rank

  bool IsWrite() const { return use == Use::Write; }
};

/// Calls the functions `On…` and `Around…` in the order of evaluation: of a loop the range, axis by
/// axis, and then the body; of an expression the operands first; of an assignment the value, the
/// peer, the indices, the element that `+=` reads, and the element that is written. The module must
/// outlive it, and no table that bodies are made of may grow meanwhile.
class BodyVisitor {
 public:
  explicit BodyVisitor(const Module& module) : visited_(module) {}
  virtual ~BodyVisitor() = default;

 protected:
  /// Visits what is inside of a scope.
  using Inside = std::function<void()>;

  void VisitBlock(const std::vector<StmtId>& body);
  void VisitExpr(ExprId id);  // nothing where it is absent
  void VisitAll(const std::vector<ExprId>& ids);
  void VisitAxes(const std::vector<Axis>& axes, AxisOf of);

  // Scopes: an `Around…` calls `inside` once.

  /// What is declared inside of braces ends with them.
  virtual void AroundBlock(const Inside& inside) { inside(); }
  virtual void AroundLoop(StmtId, const For&, const Inside& inside) { inside(); }
  virtual void AroundIf(StmtId, const If&, const Inside& inside) { inside(); }
  /// The ranks, in which the elements are read and the results are stored.
  virtual void AroundRanks(StmtId, const TopK&, const Inside& inside) { inside(); }
  virtual void AroundElements(const TopK&, const Inside& inside) { inside(); }
  virtual void AroundReduction(const Reduce&, const Inside& inside) { inside(); }
  virtual void AroundSide(const BodySide&, const Inside& inside) { inside(); }

  // What happens.

  /// A variable of the innermost loop or reduction, when its bounds have been visited.
  virtual void OnVariable(const Axis&, AxisOf) {}
  virtual void OnLet(const Let&) {}
  virtual void OnLetPair(const LetPair&) {}
  virtual void OnLocal(const LocalDecl&) {}
  /// When the value and the indices of an assignment have been visited, before its elements.
  virtual void OnAssign(const Assign&) {}
  virtual void OnElement(const BodyElement&) {}
  /// When the operands have been visited.
  virtual void OnExpr(ExprId) {}

  // Parts in which there is nothing to hear need not be visited.

  virtual bool Wants(const Stmt&) { return true; }
  virtual bool Wants(const Reduce&) { return true; }
  virtual bool WantsBounds(const Axis&) { return true; }

 private:
  void VisitStmt(StmtId id, const For& loop);
  void VisitStmt(StmtId id, const If& branch);
  void VisitStmt(StmtId id, const Let& let);
  void VisitStmt(StmtId id, const LetPair& pair);
  void VisitStmt(StmtId id, const LocalDecl& local);
  void VisitStmt(StmtId id, const Assign& assign);
  void VisitStmt(StmtId id, const TopK& topk);
  void VisitOperands(ExprId id, const Load& load);
  void VisitOperands(ExprId id, const Binary& binary);
  void VisitOperands(ExprId id, const Call& call);
  void VisitOperands(ExprId id, const Reduce& reduce);
  void VisitAxis(const Axis& axis, AxisOf of);

  const Module& visited_;
};

}  // namespace etc
