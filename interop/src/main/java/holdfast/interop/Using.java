package holdfast.interop;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/** A counter of the permits that are in use, which all add to and take from. */
final class Using {
    private Using() {}

    /** Takes permits and gives them back, for {@code forMs}. Answers how often, and the most that it has seen in use. */
    static Object use(RedissonClient client, Order order) throws InterruptedException {
        RAtomicLong inUse = client.getAtomicLong(order.text("counter"));
        int permits = order.integer("permits");
        long untilNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(order.number("forMs"));
        long times = 0;
        long most = 0;
        while (System.nanoTime() < untilNs) {
            Runnable release = acquire(client, order);
            try {
                most = Math.max(most, inUse.addAndGet(permits));
                inUse.addAndGet(-permits);
                times += 1;
            } finally {
                release.run();
            }
        }
        return Map.of("times", times, "most", most);
    }

    private static Runnable acquire(RedissonClient client, Order order) throws InterruptedException {
        int permits = order.integer("permits");
        if (order.text("kind").equals("semaphore")) {
            RSemaphore semaphore = client.getSemaphore(order.text("name"));
            semaphore.acquire(permits);
            return () -> semaphore.release(permits);
        }
        RPermitExpirableSemaphore semaphore = client.getPermitExpirableSemaphore(order.text("name"));
        List<String> ids = semaphore.acquire(permits);
        return () -> semaphore.release(ids);
    }
}
