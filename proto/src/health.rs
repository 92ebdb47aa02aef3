//! How a generator was.

use volley_stats::Health;

use crate::fields::{within, within_u32};
use crate::limits::{MAX_COUNTED_BYTES, MAX_CPU_NS, MAX_RUN_NS, MAX_SECOND_S};
use crate::{WireError, v1};

/// What a kernel says of times is not in this program's hands: what is beyond the bounds is cut, so that an odd number
/// doesn't keep the results from being taken.
impl From<(u32, Health)> for v1::Health {
    fn from((second, health): (u32, Health)) -> Self {
        let time = |ns: u64| ns.min(MAX_RUN_NS);
        Self {
            second,
            span_ns: time(health.span_ns),
            lag_p99_ns: time(health.lag_p99_ns),
            lag_max_ns: time(health.lag_max_ns),
            latency_p99_ns: time(health.latency_p99_ns),
            stall_max_ns: time(health.stall_max_ns),
            cpu_ns: health.cpu_ns.min(MAX_CPU_NS),
            busiest_cpu_ns: time(health.busiest_cpu_ns),
            waited_ns: time(health.waited_ns),
            throttled_ns: time(health.throttled_ns),
            stolen_ns: time(health.stolen_ns),
            resident_bytes: health.resident_bytes.min(MAX_COUNTED_BYTES),
            descriptors: health.descriptors,
            descriptors_limit: health.descriptors_limit,
            local_ports: health.local_ports,
        }
    }
}

impl TryFrom<v1::Health> for (u32, Health) {
    type Error = WireError;

    fn try_from(wire: v1::Health) -> Result<Self, WireError> {
        let time = |value, field| within(value, 0, MAX_RUN_NS, field);
        let second = within_u32(wire.second, 0, MAX_SECOND_S - 1, "Health.second")?;
        let health = Health {
            span_ns: time(wire.span_ns, "Health.span_ns")?,
            lag_p99_ns: time(wire.lag_p99_ns, "Health.lag_p99_ns")?,
            lag_max_ns: time(wire.lag_max_ns, "Health.lag_max_ns")?,
            latency_p99_ns: time(wire.latency_p99_ns, "Health.latency_p99_ns")?,
            stall_max_ns: time(wire.stall_max_ns, "Health.stall_max_ns")?,
            cpu_ns: within(wire.cpu_ns, 0, MAX_CPU_NS, "Health.cpu_ns")?,
            busiest_cpu_ns: time(wire.busiest_cpu_ns, "Health.busiest_cpu_ns")?,
            waited_ns: time(wire.waited_ns, "Health.waited_ns")?,
            throttled_ns: time(wire.throttled_ns, "Health.throttled_ns")?,
            stolen_ns: time(wire.stolen_ns, "Health.stolen_ns")?,
            resident_bytes: within(wire.resident_bytes, 0, MAX_COUNTED_BYTES, "Health.resident_bytes")?,
            descriptors: wire.descriptors,
            descriptors_limit: wire.descriptors_limit,
            local_ports: wire.local_ports,
        };
        Ok((second, health))
    }
}
