package holdfast.interop;

import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RBucket;
import org.redisson.api.RList;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/** A counter that only a lock protects: each step reads it, and writes it anew. */
final class Counting {
    private Counting() {}

    /** Counts for {@code forMs}. Answers how often; adds the tokens of a fenced lock to the list {@code tokens}. */
    static Object count(RedissonClient client, RLock lock, Order order) throws InterruptedException {
        RBucket<String> counter = client.getBucket(order.text("counter"), StringCodec.INSTANCE);
        RList<String> tokens = client.getList(order.text("tokens"), StringCodec.INSTANCE);
        long untilNs = until(order);
        long times = 0;
        while (System.nanoTime() < untilNs) {
            Object token = LockOrders.obey(lock, order.as("lock"));
            try {
                String before = counter.get();
                if (token instanceof Long) {
                    tokens.add(token.toString());
                }
                counter.set(Long.toString(before == null ? 1 : Long.parseLong(before) + 1));
                times += 1;
            } finally {
                lock.unlock();
            }
        }
        return Map.of("times", times);
    }

    /** Looks twice within each hold, for {@code forMs}. Answers how often, and how often the counter had moved. */
    static Object watch(RedissonClient client, RLock lock, Order order) throws InterruptedException {
        RBucket<String> counter = client.getBucket(order.text("counter"), StringCodec.INSTANCE);
        long untilNs = until(order);
        long times = 0;
        long moved = 0;
        while (System.nanoTime() < untilNs) {
            LockOrders.obey(lock, order.as("lock"));
            try {
                String before = counter.get();
                String after = counter.get();
                moved += Objects.equals(before, after) ? 0 : 1;
                times += 1;
            } finally {
                lock.unlock();
            }
        }
        return Map.of("times", times, "moved", moved);
    }

    private static long until(Order order) {
        return System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(order.number("forMs"));
    }
}
