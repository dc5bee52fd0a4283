package holdfast.interop;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RSemaphore;

/** What can be done with a semaphore. */
final class SemaphoreOrders {
    private SemaphoreOrders() {}

    static Object obey(RSemaphore semaphore, Order order) throws InterruptedException {
        return switch (order.verb()) {
            case "trySetPermits" -> trySetPermits(semaphore, order);
            case "acquire" -> {
                semaphore.acquire(order.integer("permits"));
                yield true;
            }
            case "tryAcquire" -> tryAcquire(semaphore, order);
            case "release" -> {
                semaphore.release(order.integer("permits"));
                yield true;
            }
            case "releaseIfExists" -> semaphore.releaseIfExists(order.integer("permits"));
            case "addPermits" -> {
                semaphore.addPermits(order.integer("permits"));
                yield true;
            }
            case "drainPermits" -> semaphore.drainPermits();
            case "availablePermits" -> semaphore.availablePermits();
            case "delete" -> semaphore.delete();
            default -> throw new IllegalArgumentException("no order for a semaphore: " + order.verb());
        };
    }

    private static boolean trySetPermits(RSemaphore semaphore, Order order) {
        int permits = order.integer("permits");
        return order.has("ttlMs")
                ? semaphore.trySetPermits(permits, Duration.ofMillis(order.number("ttlMs")))
                : semaphore.trySetPermits(permits);
    }

    /** Old releases do not take a Duration. */
    @SuppressWarnings("deprecation")
    private static boolean tryAcquire(RSemaphore semaphore, Order order) throws InterruptedException {
        int permits = order.integer("permits");
        return order.has("waitMs")
                ? semaphore.tryAcquire(permits, order.number("waitMs"), TimeUnit.MILLISECONDS)
                : semaphore.tryAcquire(permits);
    }
}
