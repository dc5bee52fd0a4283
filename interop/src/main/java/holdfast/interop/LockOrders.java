package holdfast.interop;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;

/** What can be done with a lock. */
final class LockOrders {
    /** Redisson's value for a hold that the watchdog keeps. */
    private static final long WATCHDOG = -1;

    private LockOrders() {}

    static Object obey(RLock lock, Order order) throws InterruptedException {
        return switch (order.verb()) {
            case "lock" -> lock(lock, order);
            case "tryLock" -> tryLock(lock, order);
            case "unlock" -> {
                lock.unlock();
                yield true;
            }
            case "forceUnlock" -> lock.forceUnlock();
            case "isLocked" -> lock.isLocked();
            case "isHeldByCurrentThread" -> lock.isHeldByCurrentThread();
            case "isHeldByThread" -> lock.isHeldByThread(order.number("threadId"));
            case "getHoldCount" -> lock.getHoldCount();
            case "remainTimeToLive" -> lock.remainTimeToLive();
            case "lockAndGetToken" -> fenced(lock).lockAndGetToken(order.number("leaseMs"), TimeUnit.MILLISECONDS);
            case "tryLockAndGetToken" -> fenced(lock).tryLockAndGetToken();
            default -> throw new IllegalArgumentException("no order for a lock: " + order.verb());
        };
    }

    /** Answers the token of a fenced lock, and true of others. */
    private static Object lock(RLock lock, Order order) throws InterruptedException {
        lock.lockInterruptibly(order.number("leaseMs", WATCHDOG), TimeUnit.MILLISECONDS);
        return lock instanceof RFencedLock fenced ? fenced.getToken() : true;
    }

    private static boolean tryLock(RLock lock, Order order) throws InterruptedException {
        if (!order.has("waitMs") && !order.has("leaseMs")) {
            return lock.tryLock();
        }
        return lock.tryLock(order.number("waitMs", 0), order.number("leaseMs", WATCHDOG), TimeUnit.MILLISECONDS);
    }

    private static RFencedLock fenced(RLock lock) {
        return (RFencedLock) lock;
    }
}
