import java.util.Scanner;
import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/** The Java service. It obeys lines on its standard input, and answers each when it is done. */
final class Account {
    private final RLock lock;
    private final RBucket<String> balance;

    private Account(RedissonClient redisson) {
        lock = redisson.getLock("account:42");
        balance = redisson.getBucket("balance:42", StringCodec.INSTANCE);
    }

    /** Reads, adds and writes. Only the lock keeps another process from writing in between. */
    private void deposit(int amount) {
        lock.lock();
        try {
            balance.set(String.valueOf(Integer.parseInt(balance.get()) + amount));
        } finally {
            lock.unlock();
        }
    }

    private void obey(String order) {
        switch (order) {
            case "lock" -> lock.lock();
            case "unlock" -> lock.unlock();
            case "deposit" -> deposit(1);
            default -> throw new IllegalArgumentException("no such order: " + order);
        }
    }

    public static void main(String[] args) {
        Config config = new Config();
        // When this JVM dies, the next holder enters within 3 seconds.
        config.setLockWatchdogTimeout(3_000);
        config.useSingleServer().setAddress(args[0]);
        RedissonClient redisson = Redisson.create(config);
        Account account = new Account(redisson);
        System.out.println(redisson.getId());
        Scanner orders = new Scanner(System.in);
        while (orders.hasNextLine()) {
            account.obey(orders.nextLine());
            System.out.println("done");
        }
        redisson.shutdown();
    }
}
