package holdfast.interop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;

/** What it costs to take locks and release them inside this process: for bench/. */
final class Measuring {
    private Measuring() {}

    interface Locks {
        RLock get(String kind, String name);
    }

    /**
     * So many tasks take locks and release them for {@code forMs}, each its own or all the same one, of the kinds in turn.
     * Answers how long each acquisition of each task took, how long all of it, and the processor time of this process.
     */
    static Object measure(Locks locks, Order order) throws InterruptedException, ExecutionException {
        int tasks = order.integer("tasks");
        long startedNs = System.nanoTime();
        Duration startedCpu = cpu();
        ExecutorService threads = Executors.newFixedThreadPool(tasks);
        try {
            List<Future<List<Long>>> running = new ArrayList<>();
            for (int task = 0; task < tasks; task++) {
                int number = task;
                running.add(threads.submit(() -> waitsOf(number, locks, order, startedNs)));
            }
            List<List<Long>> waitsUs = new ArrayList<>();
            for (Future<List<Long>> task : running) {
                waitsUs.add(task.get());
            }
            return Map.of(
                    "waitsUs", waitsUs,
                    "tookUs", TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - startedNs),
                    "cpuUs", TimeUnit.NANOSECONDS.toMicros(cpu().minus(startedCpu).toNanos()));
        } finally {
            threads.shutdownNow();
        }
    }

    private static List<Long> waitsOf(int task, Locks locks, Order order, long startedNs) throws InterruptedException {
        List<String> kinds = order.texts("kinds");
        String name = order.text("locks").equals("one") ? "lock" : "lock:" + task;
        long untilNs = startedNs + TimeUnit.MILLISECONDS.toNanos(order.number("forMs"));
        List<Long> waitsUs = new ArrayList<>();
        for (int turn = task; System.nanoTime() < untilNs; turn++) {
            RLock lock = locks.get(kinds.get(turn % kinds.size()), name);
            long askedNs = System.nanoTime();
            lock.lock(order.number("ttlMs"), TimeUnit.MILLISECONDS);
            waitsUs.add(TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - askedNs));
            Thread.sleep(order.number("holdMs"));
            lock.unlock();
        }
        return waitsUs;
    }

    private static Duration cpu() {
        return ProcessHandle.current().info().totalCpuDuration().orElse(Duration.ZERO);
    }
}
