package holdfast.interop;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RCountDownLatch;

/** What can be done with a count-down latch. */
final class LatchOrders {
    private LatchOrders() {}

    static Object obey(RCountDownLatch latch, Order order) throws InterruptedException {
        return switch (order.verb()) {
            case "trySetCount" -> latch.trySetCount(order.number("count"));
            case "countDown" -> {
                latch.countDown();
                yield true;
            }
            case "getCount" -> latch.getCount();
            case "await" -> await(latch, order);
            case "delete" -> latch.delete();
            default -> throw new IllegalArgumentException("no order for a latch: " + order.verb());
        };
    }

    private static boolean await(RCountDownLatch latch, Order order) throws InterruptedException {
        if (order.has("waitMs")) {
            return latch.await(order.number("waitMs"), TimeUnit.MILLISECONDS);
        }
        latch.await();
        return true;
    }
}
