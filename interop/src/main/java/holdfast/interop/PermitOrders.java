package holdfast.interop;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RPermitExpirableSemaphore;

/** What can be done with a semaphore whose permits have ids and leases. */
final class PermitOrders {
    /** Redisson's value for a permit that does not expire. */
    private static final long PERMANENT = -1;

    private PermitOrders() {}

    static Object obey(RPermitExpirableSemaphore semaphore, Order order) throws InterruptedException {
        return switch (order.verb()) {
            case "trySetPermits" -> semaphore.trySetPermits(order.integer("permits"));
            case "setPermits" -> {
                semaphore.setPermits(order.integer("permits"));
                yield true;
            }
            case "addPermits" -> {
                semaphore.addPermits(order.integer("permits"));
                yield true;
            }
            case "acquire" -> semaphore.acquire(
                    order.integer("permits"), order.number("leaseMs", PERMANENT), TimeUnit.MILLISECONDS);
            case "tryAcquire" -> tryAcquire(semaphore, order);
            case "release" -> release(semaphore, order);
            case "tryRelease" -> order.has("permitId")
                    ? semaphore.tryRelease(order.text("permitId"))
                    : semaphore.tryRelease(order.texts("permitIds"));
            case "availablePermits" -> semaphore.availablePermits();
            case "acquiredPermits" -> semaphore.acquiredPermits();
            case "getPermits" -> semaphore.getPermits();
            case "updateLeaseTime" -> semaphore.updateLeaseTime(
                    order.text("permitId"), order.number("leaseMs"), TimeUnit.MILLISECONDS);
            case "getLeaseTime" -> semaphore.getLeaseTime(order.text("permitId"));
            case "delete" -> semaphore.delete();
            default -> throw new IllegalArgumentException("no order for permits: " + order.verb());
        };
    }

    /** Answers the ids, which are none when there were not enough permits. */
    private static List<String> tryAcquire(RPermitExpirableSemaphore semaphore, Order order)
            throws InterruptedException {
        int permits = order.integer("permits");
        if (!order.has("waitMs") && !order.has("leaseMs")) {
            return semaphore.tryAcquire(permits);
        }
        return semaphore.tryAcquire(
                permits, order.number("waitMs", 0), order.number("leaseMs", PERMANENT), TimeUnit.MILLISECONDS);
    }

    private static boolean release(RPermitExpirableSemaphore semaphore, Order order) {
        if (order.has("permitId")) {
            semaphore.release(order.text("permitId"));
        } else {
            semaphore.release(order.texts("permitIds"));
        }
        return true;
    }
}
