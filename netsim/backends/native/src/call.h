/* What Python hands to the kernel. Every field takes eight bytes, so that the same layout is written
   by `netsim/backends/native/records.py` on any platform. */
#pragma once
#include <cstdint>

namespace netsim {

enum Kind : int64_t {
  kInputMap, kInputDense, kLinear, kConv, kRelu, kActivation, kReluMaxPool2, kMaxPool, kAvgPool,
  kFlatten, kBatchNorm, kGroupNorm, kDropout, kAdd, kCopyChannels, kSplit, kExport, kEmbedding,
  kUnused,
};

/* One layer. Offsets of values count from the start of a workspace's values, those of parameters
   from the start of a packed row; -1 means that there is none. */
struct Op {
  int64_t kind, flags;
  int64_t in, out, din, dout, in2, din2;       // forward values and their gradients
  int64_t channels, height, width, pitch;      // input: a map, or (channels, 1, 1) if dense
  int64_t out_channels, out_height, out_width, out_pitch;
  int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, groups;
  int64_t tap_h, tap_w, taps_h, taps_w;        // first and number of taps that ever meet data
  int64_t weight, weight_pitch, bias, running_mean, running_var;
  int64_t aux, daux;                           // what a layer keeps between the two passes; scratch
  int64_t staged_height, staged_pitch, staged_step;
  int64_t offsets;                             // into the call's table of offsets
  int64_t count, first, step;                  // of values or channels, by kind
  double real1, real2;                         // slope, epsilon, momentum, by kind
};

enum Flag : int64_t {
  kDense = 1, kTraining = 2, kStaged = 4, kPhased = 8, kAffineByValue = 16, kCountPadding = 32,
  kFinal = 64, kAdaptive = 128, kSmallMap = 256, kTiles = 512,
};

/* The layers for one number of samples. `id` is unique in the process. */
struct Table {
  const Op* ops;
  int64_t num_ops, samples, id, num_values;
};

/* A tensor in a model's row and in a packed row, where each of its rows is padded to `pitch`. With
   an `area` above 1 it is a convolution's, [row][column][tap], of which the packed row has those
   taps that meet data as [tap][row][column], and the others from `dead_offset` on, as they come. */
struct Segment {
  int64_t row_offset, packed_offset, rows, columns, pitch;
  int64_t area, kernel_w, tap_h, tap_w, taps_h, taps_w, dead_offset;
};

enum Mode : int64_t { kLook, kGradient, kTrain, kSum };  // kSum: rows are added, no more
enum Loss : int64_t { kNoLoss, kCrossEntropy, kMeanSquared, kGivenGradient };
enum OptimizerKind : int64_t { kSgd, kAdam };
enum Status : int64_t { kFine, kBadSample, kBadLabel };

/* Operands of a loss of an algorithm's own, see loss_program.h: a strided view of one of these. */
enum LossBase : int64_t {
  kLossWork, kLossWeights, kLossGradient, kLossConstants, kLossInputs, kNumBases,
};
struct LossView {
  int64_t base, offset, strides[4];
};

enum LossKind : int64_t {
  kLossMap, kLossReduce, kLossMultiply, kLossRows, kLossLabels, kLossTargets, kLossCheck,
  kLossLayers, kLossForward, kLossBackward,
};
enum LossFunction : int64_t {
  kCopy, kPlus, kMinus, kTimes, kOver, kPlusTimes, kScaled, kLess, kLessEqual, kEqual, kUnequal,
  kWhere, kMaximum, kMinimum, kExp, kLog, kSqrt, kTanhOf, kAbs, kSign, kPower,
};

/* One operation of a loss; what `dims` are is said where the operation is. */
struct LossOp {
  int64_t kind, function, num_in, scratch;
  int64_t dims[4];
  LossView out, in[3];
  double real;
};

/* A part of the model that a loss calls with parameters of its own: its layers for the samples of
   the minibatch from `first_sample` on, and the layout of its row. Its values begin at `values` of
   the workspace's values. Each of `shared` is running statistics that it changes for the job: where
   they lie in the job's packed row, in its own, and how many there are. */
struct LossPass {
  const Table* table;
  const Segment* segments;
  const int64_t* offsets;
  const int64_t* shared;       // (num_shared, 3)
  int64_t num_segments, num_parameters, export_width, first_sample, values, num_shared;
};

/* A loss on minibatches of one size: operations before the backward pass of the model's layers, then
   those that add to the gradient of parameters. The exports of the layers, and the gradients by
   them, are in its workspace. */
struct LossProgram {
  const LossOp* ops;
  const LossPass* passes;
  int64_t num_before, num_ops, exports, gradients;
};

struct Call {
  const Table* tables;
  const Segment* segments;
  int64_t num_segments, num_packed, num_packed_parameters, num_values, num_parameters;
  const int64_t* offsets;

  int64_t num_jobs;
  const int64_t* first_step;   // (jobs + 1,) into the steps
  const int64_t* step_table;   // (steps,) into `tables`
  const int64_t* step_start;   // (steps,) into `index`
  const int64_t* step_masks;   // (steps,) into `masks`
  const int64_t* step_export;  // (steps,) row of `exports` and `given`
  const int64_t* index;        // numbers of samples
  int64_t* next;               // the job to take next; shared by all workers
  int64_t* status;             // of each job

  const void* x;               // (num_samples, ...), the scalar type; int64 for an embedding
  const int64_t* labels;       // (num_samples,)
  const void* targets;         // (num_samples, outputs), for the mean squared error
  int64_t num_samples;
  const void* masks;           // of dropout: 0 or 1 / (1 - p)
  const void* draws;           // 3 for each entry of `index`: images are moved and mirrored as they
  const void* black;           // are read, see crop_flip.h; what lies around them, (channels,)
  int64_t pad;                 // most pixels by which they are moved
  void* exports;               // (rows, export_width), written by the forward pass
  const void* given;           // (rows, export_width), gradients by the exports
  int64_t export_width;

  const LossProgram* programs; // null: the loss is one of `Loss`
  const int64_t* step_program; // (steps,) into `programs`
  int64_t loss_work;           // where a program's workspace is, from the start of the values
  const void* loss_constants;
  const void* loss_inputs;     // (jobs, ...) values that the loss of a job is given
  int64_t loss_inputs_pitch;

  const void* rows;            // models: job j reads row source[j]
  int64_t rows_pitch;
  const int64_t* source;
  const int64_t* first_source; // (jobs + 1,) into `source`: job j begins with a weighted sum of
  const void* source_weights;  // rows, each with its weight; null: with one row as it is
  void* out;                   // models or gradients: job j writes row target[j]
  int64_t out_pitch;
  const int64_t* target;
  const void* anchors;
  int64_t anchors_pitch;
  const int64_t* anchor;
  const void* states;          // of optimisers, null: they start afresh
  int64_t states_pitch;
  const int64_t* state;
  void* states_out;            // null: nobody wants them
  int64_t states_out_pitch;
  const int64_t* state_target;
  double* losses;              // (jobs,) mean loss over all samples of a job; null: not wanted
  double* sums;                // (jobs,) sum of the parameters that were written

  const double* learning_rate; // (jobs,)
  int64_t mode, loss, optimizer, updates_buffers;
  double momentum, weight_decay, beta1, beta2, clip_norm, anchor_strength;
};

using Run = void (*)(const Call*, void* workspace);

/* Images (n, channels, height, width) and what becomes of each: a row of `how`, whose columns are
   named below. All but the sizes are of the scalar type. */
struct Views {
  const void *x, *how, *means, *deviations;
  void *out, *room;            // room: 2 rows, and a row of int32
  int64_t n, channels, height, width;
};
enum ViewColumn : int64_t {
  kTop, kLeft, kHeight, kWidth, kFlipped, kJittered, kGrey, kTurns, kAmounts = kTurns + 4,
  kViewColumns = kAmounts + 4,
};
using MakeViews = void (*)(const Views*);

/* Room before the values of a workspace: a note of the table that it was last used for, the packed
   model and what the optimiser needs, each `at` so many scalars. -1: not needed. */
struct Layout {
  int64_t weights, gradient, first, second, anchor, values;
};
constexpr int64_t kHeaderBytes = 64;

/* With momentum alone, weights move as soon as a layer's gradient is known. */
inline bool is_fused(const Call& c) {
  return c.mode == kTrain && c.optimizer == kSgd && c.weight_decay == 0 && c.clip_norm <= 0 &&
         !c.anchors && !c.programs;
}

inline Layout layout_of(const Call& c) {
  const int64_t n = c.num_packed_parameters;
  const bool trains = c.mode == kTrain, fused = is_fused(c);
  Layout l{0, -1, -1, -1, -1, c.num_packed};
  auto take = [&](bool needed) {
    if (!needed) return int64_t{-1};
    const int64_t at = l.values;
    l.values += n;
    return at;
  };
  l.gradient = take(trains || c.mode == kGradient);
  l.first = take(trains && !fused && (c.optimizer == kAdam || c.momentum != 0));
  l.second = take(trains && c.optimizer == kAdam);
  l.anchor = take(trains && c.anchors);
  return l;
}

}  // namespace netsim
