// The fields of a Result by name: the one list that writing and reading share, in the order of the JSON.
#pragma once

#include "record/result.h"

namespace headway::record {

// Each calls visit("name", field) for every field; `Self` is the struct, const or not.
template <class Self, class Visit>
void visit_machine(Self& machine, Visit&& visit) {
  visit("cpu", machine.cpu);
  visit("architecture", machine.architecture);
  visit("cores", machine.cores);
  visit("cpus", machine.cpus);
  visit("sockets", machine.sockets);
  visit("features", machine.features);
  visit("l1d_bytes", machine.l1d_bytes);
  visit("l2_bytes", machine.l2_bytes);
  visit("l3_bytes", machine.l3_bytes);
  visit("memory_bytes", machine.memory_bytes);
  visit("kernel", machine.kernel);
}

template <class Self, class Visit>
void visit_strategy(Self& strategy, Visit&& visit) {
  visit("dp", strategy.dp);
  visit("tp", strategy.tp);
  visit("sp", strategy.sp);
  visit("pp", strategy.pp);
  visit("cp", strategy.cp);
  visit("ep", strategy.ep);
  visit("zero", strategy.zero);
  visit("schedule", strategy.schedule);
  visit("interleave", strategy.interleave);
  visit("micro_batches", strategy.micro_batches);
  visit("bucket_mb", strategy.bucket_mb);
  visit("order", strategy.order);
}

template <class Self, class Visit>
void visit_step_time(Self& time, Visit&& visit) {
  visit("p10", time.p10);
  visit("p50", time.p50);
  visit("p90", time.p90);
  visit("p99", time.p99);
  visit("n", time.n);
  visit("stop", time.stop);
}

template <class Self, class Visit>
void visit_metrics(Self& metrics, Visit&& visit) {
  visit("step_ms", metrics.step_ms);
  visit("items_per_s", metrics.items_per_s);
  visit("item", metrics.item);
  visit("mfu", metrics.mfu);
  visit("hfu", metrics.hfu);
  visit("flops_per_step", metrics.flops_per_step);
  visit("peak_flops", metrics.peak_flops);
  visit("memory_bandwidth_share", metrics.memory_bandwidth_share);
  visit("loss", metrics.loss);
  visit("valid_loss", metrics.valid_loss);
  visit("valid_accuracy", metrics.valid_accuracy);
  visit("valid_baseline_accuracy", metrics.valid_baseline_accuracy);
  visit("valid_r2", metrics.valid_r2);
  visit("steps", metrics.steps);
  visit("epochs", metrics.epochs);
  visit("time_to_target_s", metrics.time_to_target_s);
  visit("planned_bytes", metrics.planned_bytes);
  visit("arena_bytes", metrics.arena_bytes);
  visit("peak_rss_bytes", metrics.peak_rss_bytes);
  visit("data_wait_share", metrics.data_wait_share);
  visit("exposed_comm_share", metrics.exposed_comm_share);
  visit("predicted_step_ms", metrics.predicted_step_ms);
  visit("instructions_per_step", metrics.instructions_per_step);
  visit("cycles_per_step", metrics.cycles_per_step);
  visit("cache_misses_per_step", metrics.cache_misses_per_step);
  visit("joules_per_step", metrics.joules_per_step);
  visit("loss_difference", metrics.loss_difference);
  visit("loss_error", metrics.loss_error);
  visit("peer_loss_error", metrics.peer_loss_error);
}

template <class Self, class Visit>
void visit_row(Self& row, Visit&& visit) {
  visit("op", row.op);
  visit("ms", row.ms);
  visit("predicted_ms", row.predicted_ms);
  visit("share", row.share);
  visit("flops", row.flops);
  visit("bytes", row.bytes);
  visit("bound", row.bound);
}

template <class Self, class Visit>
void visit_peer(Self& peer, Visit&& visit) {
  visit("peer", peer.peer);
  visit("ms", peer.ms);
  visit("ratio", peer.ratio);
  visit("low", peer.low);
  visit("high", peer.high);
}

template <class Self, class Visit>
void visit_result(Self& result, Visit&& visit) {
  visit("kind", result.kind);
  visit("id", result.id);
  visit("time", result.time);
  visit("revision", result.revision);
  visit("machine", result.machine);
  visit("workload", result.workload);
  visit("precision", result.precision);
  visit("ranks", result.ranks);
  visit("threads", result.threads);
  visit("device", result.device);
  visit("strategy", result.strategy);
  visit("metrics", result.metrics);
  visit("breakdown", result.breakdown);
  visit("peers", result.peers);
  visit("samples", result.samples);
  visit("notes", result.notes);
}

}  // namespace headway::record
