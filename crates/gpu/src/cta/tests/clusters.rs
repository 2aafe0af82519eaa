//! Tests of the assignment of clusters to SMs against an H100.

use warpshard_config::machine::Machine;

use super::mock::{EVERY_CYCLE, MockChip, MockKernel, Stepping};

/// SMs of an H100 that ran 132 clusters of four CTAs of 256 threads, launched at the same time, in CTA order (our measurement).
const H100_SMS_BY_CTA: [u16; 528] = [
    0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31, 32, 33, 48, 49,
    34, 35, 50, 51, 36, 37, 52, 53, 38, 39, 54, 55, 40, 41, 56, 57, 42, 43, 58, 59, 44, 45, 60, 61, 46, 47, 62, 63, 64, 65, 78, 79, 66, 67,
    80, 81, 68, 69, 82, 83, 70, 71, 84, 85, 72, 73, 86, 87, 74, 75, 88, 89, 76, 77, 90, 91, 92, 93, 106, 107, 94, 95, 108, 109, 96, 97,
    110, 111, 98, 99, 112, 113, 100, 101, 114, 115, 102, 103, 116, 117, 104, 105, 118, 119, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7,
    22, 23, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 120, 121, 14, 15, 122, 123, 32, 33, 48, 49, 34, 35, 50, 51, 36, 37, 52, 53, 38, 39, 54,
    55, 40, 41, 56, 57, 42, 43, 58, 59, 28, 29, 44, 45, 30, 31, 46, 47, 64, 65, 78, 79, 66, 67, 80, 81, 68, 69, 82, 83, 70, 71, 84, 85, 72,
    73, 86, 87, 60, 61, 74, 75, 62, 63, 76, 77, 92, 93, 106, 107, 94, 95, 108, 109, 96, 97, 110, 111, 98, 99, 112, 113, 100, 101, 114, 115,
    88, 89, 102, 103, 90, 91, 104, 105, 116, 117, 120, 121, 118, 119, 122, 123, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23, 8,
    9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31, 32, 33, 48, 49, 34, 35, 50, 51, 36, 37, 52, 53, 38, 39, 54, 55, 40, 41, 56,
    57, 42, 43, 58, 59, 44, 45, 60, 61, 46, 47, 62, 63, 64, 65, 78, 79, 66, 67, 80, 81, 68, 69, 82, 83, 70, 71, 84, 85, 72, 73, 86, 87, 74,
    75, 88, 89, 76, 77, 90, 91, 92, 93, 106, 107, 94, 95, 108, 109, 96, 97, 110, 111, 98, 99, 112, 113, 100, 101, 114, 115, 102, 103, 116,
    117, 104, 105, 118, 119, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 120, 121, 14,
    15, 122, 123, 32, 33, 48, 49, 34, 35, 50, 51, 36, 37, 52, 53, 38, 39, 54, 55, 40, 41, 56, 57, 42, 43, 58, 59, 28, 29, 44, 45, 30, 31,
    46, 47, 64, 65, 78, 79, 66, 67, 80, 81, 68, 69, 82, 83, 70, 71, 84, 85, 72, 73, 86, 87, 60, 61, 74, 75, 62, 63, 76, 77, 92, 93, 106,
    107, 94, 95, 108, 109, 96, 97, 110, 111, 98, 99, 112, 113, 100, 101, 114, 115, 88, 89, 102, 103, 90, 91, 104, 105, 116, 117, 120, 121,
    118, 119, 122, 123, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30,
    31,
];

#[test]
fn clusters_are_assigned_to_the_sms_measured_on_an_h100() {
    let machine = Machine::load("h100", &[]).unwrap().machine;
    let job = MockKernel { stream: 0, ctas: 528, resident: 8, cycles: |_| 1_000_000, app: 0 };
    let mut chip = MockChip::with_clusters(&machine, &job, 4);
    chip.run(1_000, EVERY_CYCLE);
    assert_eq!(chip.sms_of(0), H100_SMS_BY_CTA);
    let starts = chip.start_cycles(0);
    assert!(starts.chunks(4).all(|cluster| cluster.iter().all(|start| *start == cluster[0])), "CTAs of a cluster start together");
    assert!(starts.chunks(4).map(|cluster| cluster[0]).is_sorted_by(|one, next| next - one == 3), "one cluster in three cycles");
}

#[test]
fn a_cluster_waits_until_a_gpc_fits_all_its_ctas() {
    let mut machine = Machine::load("h100", &[]).unwrap().machine;
    machine.gpu.sms = 6;
    machine.gpu.dispatch.order.clear();
    machine.gpu.cluster.gpcs = vec![0, 0, 0, 1, 1, 1];
    // One CTA fills an SM; the CTAs of the first clusters end one after the other.
    let job = MockKernel { stream: 0, ctas: 6, resident: 1, cycles: |cta| 100 * u64::from(cta + 1), app: 0 };
    let mut chip = MockChip::with_clusters(&machine, &job, 2);
    chip.run(10_000, Stepping { span: 5, skip: true, first_sm: 2 });
    let (places, starts) = (chip.sms_of(0), chip.start_cycles(0));
    assert_eq!(places[..4], [0, 1, 3, 4]);
    // SM 2 is free all the time, and SM 0 becomes free at the end of CTA 0.
    assert_eq!((&places[4..], starts[4] - starts[0] > 100, starts[4] - starts[0] < 200), (&[0, 2][..], true, true));
}
