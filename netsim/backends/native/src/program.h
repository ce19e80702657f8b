/* Runs jobs: takes a node's model into the workspace, goes through its minibatches layer by layer,
   and writes what came of it. Only `pack` and `unpack` touch the caller's rows, value by value. */
#pragma once
#include "convolution.h"
#include "dense.h"
#include "elementwise.h"
#include "loss.h"
#include "loss_program.h"
#include "normalization.h"
#include "optimizer.h"
#include "pooling.h"

namespace netsim {
namespace NETSIM_VARIANT {

template <class T> void forward_op(const Op& op, Machine<T>& m) {
  const bool dense = op.flags & kDense;
  switch (op.kind) {
    case kInputMap: return input_map(op, m);
    case kInputDense: return input_dense(op, m);
    case kLinear: return linear_forward(op, m);
    case kConv: return conv_forward(op, m);
    case kRelu: return activation_forward<Relu>(op, m);
    case kActivation: return listed_forward(op, m);
    case kReluMaxPool2: return relu_pool_forward(op, m);
    case kMaxPool: return max_pool_forward(op, m);
    case kAvgPool: return average_pool_forward(op, m);
    case kFlatten: return flatten_forward(op, m);
    case kBatchNorm: return dense ? batch_norm_dense_forward(op, m) : batch_norm_map_forward(op, m);
    case kGroupNorm: return dense ? group_norm_dense_forward(op, m) : group_norm_map_forward(op, m);
    case kDropout: return dropout<T, false>(op, m);
    case kAdd: return add_forward(op, m);
    case kCopyChannels: return copy_channels_forward(op, m);
    case kExport: return export_forward(op, m);
    case kEmbedding: return embedding_forward(op, m);
    default: return;  // a value that splits, and unused parameters, have no forward pass
  }
}

template <class T> void backward_op(const Op& op, Machine<T>& m) {
  if (op.kind == kExport) return export_backward(op, m);
  if (op.kind == kUnused) return unused_backward(op, m);
  if (op.dout < 0) return;  // nothing before it learns
  const bool dense = op.flags & kDense;
  switch (op.kind) {
    case kLinear: return linear_backward(op, m);
    case kConv: return conv_backward(op, m);
    case kRelu: return activation_backward<Relu>(op, m);
    case kActivation: return listed_backward(op, m);
    case kReluMaxPool2: return relu_pool_backward(op, m);
    case kMaxPool: return max_pool_backward(op, m);
    case kAvgPool: return average_pool_backward(op, m);
    case kFlatten: return flatten_backward(op, m);
    case kBatchNorm:
      return dense ? batch_norm_dense_backward(op, m) : batch_norm_map_backward(op, m);
    case kGroupNorm:
      return dense ? group_norm_dense_backward(op, m) : group_norm_map_backward(op, m);
    case kDropout: return dropout<T, true>(op, m);
    case kAdd: return add_backward(op, m);
    case kCopyChannels: return copy_channels_backward(op, m);
    case kSplit: return split_backward(op, m);
    case kEmbedding: return embedding_backward(op, m);
    default: return;
  }
}

/* Calls f(place of column `first`, tap, distance of columns, whether it lives) for each tap of row r
   of a convolution's weights. */
template <class F> NETSIM_INLINE void each_tap(const Segment& g, Index r, Index first, F f) {
  const Index dead = g.area - g.taps_h * g.taps_w;
  Index at = g.packed_offset + r * g.pitch + first;
  Index dead_at = g.dead_offset + (r * g.columns + first) * dead;
  for (Index t = 0; t < g.area; ++t) {
    const Index h = t / g.kernel_w - g.tap_h, w = t % g.kernel_w - g.tap_w;
    if (h >= 0 && h < g.taps_h && w >= 0 && w < g.taps_w) {
      f(at, t, Index{1}, true);
      at += g.rows * g.pitch;
    } else {
      f(dead_at++, t, dead, false);
    }
  }
}
/* Of row r, `n` columns from `first` on, [column][tap], to their places; zeros behind the end. */
template <class T>
void pack_taps(const Segment& g, T* packed, const T* from, Index r, Index first, Index n) {
  const bool ends = first + n == g.columns;
  each_tap(g, r, first, [&](Index at, Index t, Index step, bool lives) {
    T* to = packed + at;
    const T* x = from + t;
    for (Index i = 0; i < n; ++i) to[i * step] = x[i * g.area];
    if (ends && lives) zero(to + n, g.pitch - g.columns);
  });
  if (!ends || r + 1 < g.rows) return;
  const Index dead = g.rows * g.columns * (g.area - g.taps_h * g.taps_w);
  zero(packed + g.dead_offset + dead, rounded<T>(dead) - dead);
}
template <class T> void unpack_taps(const Segment& g, T* to, const T* packed, Index r) {
  each_tap(g, r, 0, [&](Index at, Index t, Index step, bool) {
    const T* from = packed + at;
    for (Index i = 0; i < g.columns; ++i) to[i * g.area + t] = from[i * step];
  });
}

/* Rows of tensors to rows that are whole vectors, zeros behind their end; and back. Of a layout
   (segments, num_segments) those tensors that begin before `stop`. */
template <class L, class T> void pack(const L& layout, T* packed, const T* row, Index stop) {
  for (Index s = 0; s < layout.num_segments; ++s) {
    const Segment& g = layout.segments[s];
    if (g.row_offset >= stop) return;
    for (Index r = 0; r < g.rows; ++r) {
      if (g.area > 1) {
        pack_taps(g, packed, row + g.row_offset + r * g.columns * g.area, r, 0, g.columns);
        continue;
      }
      T* to = packed + g.packed_offset + r * g.pitch;
      copy(to, row + g.row_offset + r * g.columns, g.columns);
      zero(to + g.columns, g.pitch - g.columns);
    }
  }
}
template <class L, class T> void unpack(const L& layout, T* row, const T* packed, Index stop) {
  for (Index s = 0; s < layout.num_segments; ++s) {
    const Segment& g = layout.segments[s];
    if (g.row_offset >= stop) return;
    for (Index r = 0; r < g.rows; ++r)
      if (g.area > 1) unpack_taps(g, row + g.row_offset + r * g.columns * g.area, packed, r);
      else copy(row + g.row_offset + r * g.columns, packed + g.packed_offset + r * g.pitch, g.columns);
  }
}

/* A job's weighted sum of rows, n values from `at` on, added in their order. A weight of 0 keeps a
   row out, even one with NaN. */
template <class T, int N>
NETSIM_INLINE void sum_vectors(const Call& c, Index job, Index at, T* to) {
  const T* rows = static_cast<const T*>(c.rows) + at;
  const T* weights = static_cast<const T*>(c.source_weights);
  Vec<T> total[N]{};
  for (Index k = c.first_source[job]; k < c.first_source[job + 1]; ++k) {
    if (weights[k] == 0) continue;
    const T* row = rows + c.source[k] * c.rows_pitch;
    for (int i = 0; i < N; ++i) total[i] += load<T>(row + i * kLanes<T>) * weights[k];
  }
  for (int i = 0; i < N; ++i) store<T>(to + i * kLanes<T>, total[i]);
}
template <class T> void sum_rows(const Call& c, Index job, Index at, Index n, T* to) {
  constexpr int kTogether = 8;
  Index i = 0;
  for (; i + kTogether * kLanes<T> <= n; i += kTogether * kLanes<T>)
    sum_vectors<T, kTogether>(c, job, at + i, to + i);
  for (; i + kLanes<T> <= n; i += kLanes<T>) sum_vectors<T, 1>(c, job, at + i, to + i);
  const T* rows = static_cast<const T*>(c.rows) + at;
  const T* weights = static_cast<const T*>(c.source_weights);
  for (; i < n; ++i) {
    T total = 0;
    for (Index k = c.first_source[job]; k < c.first_source[job + 1]; ++k)
      if (weights[k] != 0) total += rows[c.source[k] * c.rows_pitch + i] * weights[k];
    to[i] = total;
  }
}

/* `pack` of such a sum. */
template <class T> void pack_sum(const Call& c, T* packed, Index job) {
  constexpr Index kValues = 4096;
  T found[kValues];
  for (Index s = 0; s < c.num_segments; ++s) {
    const Segment& g = c.segments[s];
    for (Index r = 0; r < g.rows; ++r) {
      const Index from = g.row_offset + r * g.columns * g.area;
      if (g.area == 1) {
        T* to = packed + g.packed_offset + r * g.pitch;
        sum_rows(c, job, from, g.columns, to);
        zero(to + g.columns, g.pitch - g.columns);
        continue;
      }
      for (Index i = 0, n; i < g.columns; i += n) {
        n = kValues / g.area < g.columns - i ? kValues / g.area : g.columns - i;
        sum_rows(c, job, from + i * g.area, n * g.area, found);
        pack_taps(g, packed, found, r, i, n);
      }
    }
  }
}

template <class T> class Worker {
 public:
  Worker(const Call& call, void* workspace)
      : call_(call), layout_(layout_of(call)), used_for_(static_cast<int64_t*>(workspace)),
        base_(reinterpret_cast<T*>(static_cast<char*>(workspace) + kHeaderBytes)) {}

  void run() {
    for (;;) {
      const int64_t job = __atomic_fetch_add(call_.next, 1, __ATOMIC_RELAXED);
      if (job >= call_.num_jobs) return;
      run_job(job);
    }
  }

 private:
  T* at(int64_t offset) const { return offset < 0 ? nullptr : base_ + offset; }

  void run_job(Index job) {
    const Call& c = call_;
    if (c.mode == kSum) {
      sum_rows(c, job, 0, c.num_values, static_cast<T*>(c.out) + c.target[job] * c.out_pitch);
      return;
    }
    Machine<T> m{};
    m.call = &c;
    m.weights = at(layout_.weights);
    m.gradient = at(layout_.gradient);
    m.values = at(layout_.values);
    m.fused = is_fused(c);
    m.updates_buffers = c.updates_buffers;
    const double rate = c.learning_rate ? c.learning_rate[job] : 0;
    m.rate = static_cast<T>(rate);
    if (c.first_source) pack_sum(c, m.weights, job);
    else pack(c, m.weights, static_cast<const T*>(c.rows) + c.source[job] * c.rows_pitch, c.num_values);
    Memory<T> memory = open_memory(job, m);
    const Index start = c.first_step[job], stop = c.first_step[job + 1];
    Index all = 0;
    for (Index s = start; s < stop; ++s) all += c.tables[c.step_table[s]].samples;
    double loss = 0;
    for (Index s = start; s < stop; ++s) {
      const Table& table = c.tables[c.step_table[s]];
      const bool is_first = s == start, is_last = s + 1 == stop;
      if (m.fused) {
        m.decay = is_first && !c.states ? 0 : static_cast<T>(c.momentum);
        m.keeps = c.momentum != 0 && (!is_last || c.states_out);
      } else {
        m.decay = c.mode == kGradient && !is_first ? 1 : 0;
        m.keeps = true;
      }
      const Index divisor = c.mode == kTrain ? table.samples : all;
      loss += minibatch(table, job, s, m, 1 / static_cast<T>(divisor));
      if (m.status != kFine) {
        c.status[job] = m.status;
        return;
      }
      if (c.mode == kTrain && !m.fused) optimizer_step(m, memory, rate);
    }
    if (c.losses) c.losses[job] = loss / static_cast<double>(all);
    write(job, m, memory);
    c.status[job] = kFine;
  }

  /* One pass through the layers and, unless models are only looked at, back. */
  double minibatch(const Table& table, Index job, Index step, Machine<T>& m, T share) {
    const Call& c = call_;
    if (used_for_[0] != table.id || used_for_[1] != layout_.values) {
      zero(m.values, table.num_values);  // what another layout left behind rows is not zero
      used_for_[0] = table.id;
      used_for_[1] = layout_.values;
    }
    const Index first = c.step_start[step];
    m.samples = table.samples;
    m.index = c.index + first;
    m.masks = c.masks ? static_cast<const T*>(c.masks) + c.step_masks[step] : nullptr;
    m.draws = c.draws ? static_cast<const T*>(c.draws) + 3 * first : nullptr;
    const Index row = c.step_export ? c.step_export[step] * c.export_width : 0;
    m.exported = c.exports ? static_cast<T*>(c.exports) + row : nullptr;
    m.given = c.given ? static_cast<const T*>(c.given) + row : nullptr;
    for (Index b = 0; b < m.samples; ++b)
      if (m.index[b] < 0 || m.index[b] >= c.num_samples) m.status = kBadSample;
    if (m.status != kFine) return 0;
    const LossProgram* program = c.programs ? c.programs + c.step_program[step] : nullptr;
    LossMemory<T> memory{};
    if (program) {
      T* work = m.values + c.loss_work;
      m.exported = work + program->exports;
      m.given = work + program->gradients;
      memory.at[kLossWork] = work;
      memory.at[kLossWeights] = m.weights;
      memory.at[kLossGradient] = m.gradient;
      // Only read; a view of what is written is of the workspace or the gradient.
      memory.at[kLossConstants] = const_cast<T*>(static_cast<const T*>(c.loss_constants));
      memory.at[kLossInputs] =
          const_cast<T*>(static_cast<const T*>(c.loss_inputs)) + job * c.loss_inputs_pitch;
    }
    if (program) {
      for (Index q = 0; q < program->num_before && m.status == kFine;
           q += length_of(program->ops[q]))
        loss_op(*program, program->ops[q], memory, table, m);
    } else {
      for (Index q = 0; q < table.num_ops; ++q) forward_op(table.ops[q], m);
    }
    const Op& last = table.ops[table.num_ops - 1];
    const bool learns = c.mode != kLook && last.din >= 0;
    double loss = 0;
    if (c.loss == kCrossEntropy) loss = cross_entropy(last, m, share, learns, c.losses != nullptr);
    if (c.loss == kMeanSquared) loss = mean_squared(last, m, share, learns);
    if (c.mode != kLook && m.status == kFine)
      for (Index q = table.num_ops - 1; q >= 0; --q) backward_op(table.ops[q], m);
    if (program)
      for (Index q = program->num_before; q < program->num_ops && m.status == kFine;
           q += length_of(program->ops[q]))
        run_loss(program->ops[q], memory, m);
    return loss;
  }

  /* One operation of a loss: the model's layers with the job's own parameters, a part of the model
     with others, the way back through that, or anything else. */
  void loss_op(const LossProgram& program, const LossOp& op, const LossMemory<T>& memory,
               const Table& table, Machine<T>& m) {
    switch (op.kind) {
      case kLossLayers:
        for (Index q = 0; q < table.num_ops; ++q) forward_op(table.ops[q], m);
        return;
      case kLossForward: {  // of a row of parameters; packs it
        const LossPass& pass = program.passes[op.function];
        T* weights = start_of(op.in[1], memory);
        pack(pass, weights, start_of(op.in[0], memory), pass.num_parameters);
        const int64_t *first = pass.shared, *stop = first + 3 * pass.num_shared;
        for (const int64_t* s = first; s < stop; s += 3) copy(weights + s[1], m.weights + s[0], s[2]);
        Call call;
        Machine<T> there = elsewhere(pass, m, call, weights, nullptr);
        there.exported = start_of(op.out, memory);
        for (Index q = 0; q < pass.table->num_ops; ++q) forward_op(pass.table->ops[q], there);
        for (const int64_t* s = first; s < stop; s += 3) copy(m.weights + s[0], weights + s[1], s[2]);
        m.status = there.status;
        return;
      }
      case kLossBackward: {  // of gradients by the exports to a row of gradients
        const LossPass& pass = program.passes[op.function];
        T* gradient = start_of(op.in[2], memory);
        Call call;
        Machine<T> there = elsewhere(pass, m, call, start_of(op.in[1], memory), gradient);
        there.given = start_of(op.in[0], memory);
        for (Index q = pass.table->num_ops - 1; q >= 0; --q) backward_op(pass.table->ops[q], there);
        unpack(pass, start_of(op.out, memory), gradient, pass.num_parameters);
        return;
      }
      default: return run_loss(op, memory, m);
    }
  }

  /* What a pass works with: samples of the job's minibatch, a packed row of its own. */
  Machine<T> elsewhere(const LossPass& pass, const Machine<T>& m, Call& call, T* weights,
                       T* gradient) const {
    call = call_;
    call.offsets = pass.offsets;
    call.export_width = pass.export_width;
    Machine<T> there = m;
    there.call = &call;
    there.weights = weights;
    there.gradient = gradient;
    there.values = m.values + pass.values;
    there.samples = pass.table->samples;
    there.index = m.index + pass.first_sample;
    if (m.draws) there.draws = m.draws + 3 * pass.first_sample;
    there.decay = 0;
    there.keeps = true;
    there.updates_buffers = pass.num_shared > 0;
    return there;
  }

  Memory<T> open_memory(Index job, const Machine<T>& m) {
    const Call& c = call_;
    Memory<T> memory{at(layout_.first), at(layout_.second), at(layout_.anchor), 0};
    const Index n = c.num_packed_parameters, P = c.num_parameters;
    // Layers do not write all of the padding, but norms of the whole gradient are taken.
    if (m.gradient && !m.fused) zero(m.gradient, n);
    if (c.mode != kTrain) return memory;
    const T* state = c.states
        ? static_cast<const T*>(c.states) + c.state[job] * c.states_pitch : nullptr;
    if (c.optimizer == kAdam) {
      if (state) {
        memory.count = static_cast<double>(state[0]);
        pack(c, memory.first, state + 1, P);
        pack(c, memory.second, state + 1 + P, P);
      } else {
        zero(memory.first, n);
        zero(memory.second, n);
      }
    } else if (c.momentum != 0) {
      T* velocity = m.fused ? m.gradient : memory.first;
      if (state) pack(c, velocity, state, P);
      else if (!m.fused || c.states_out) zero(velocity, n);
    }
    if (memory.anchor)
      pack(c, memory.anchor,
           static_cast<const T*>(c.anchors) + c.anchor[job] * c.anchors_pitch, P);
    return memory;
  }

  void write(Index job, const Machine<T>& m, const Memory<T>& memory) {
    const Call& c = call_;
    const Index n = c.num_packed_parameters, P = c.num_parameters;
    if (c.sums) c.sums[job] = double_sum(m.weights, n);
    if (c.out) {
      T* row = static_cast<T*>(c.out) + c.target[job] * c.out_pitch;
      if (c.mode == kGradient) {
        unpack(c, row, m.gradient, P);
        zero(row + P, c.num_values - P);
      } else {
        unpack(c, row, m.weights, c.num_values);
      }
    }
    if (!c.states_out) return;
    T* state = static_cast<T*>(c.states_out) + c.state_target[job] * c.states_out_pitch;
    if (c.optimizer == kAdam) {
      state[0] = static_cast<T>(memory.count);
      unpack(c, state + 1, memory.first, P);
      unpack(c, state + 1 + P, memory.second, P);
    } else if (c.momentum != 0) {
      unpack(c, state, m.fused ? m.gradient : memory.first, P);
    } else if (c.states) {  // without momentum a state never changes
      copy(state, static_cast<const T*>(c.states) + c.state[job] * c.states_pitch, P);
    } else {
      zero(state, P);
    }
  }

  const Call& call_;
  const Layout layout_;
  int64_t* used_for_;
  T* base_;
};

}  // namespace NETSIM_VARIANT
}  // namespace netsim
