package holdfast.interop;

import com.google.gson.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.BaseConfig;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ShardedSubscriptionMode;
import org.redisson.config.SingleServerConfig;

/** The Redisson clients of this process, by the names that orders call them. */
final class Clients {
    private final Map<String, RedissonClient> open = new ConcurrentHashMap<>();
    /** A lock remembers how it was taken: as in a program, each thread keeps what it uses. */
    private final Map<JsonObject, RLock> locks = new ConcurrentHashMap<>();

    Object obey(Order order) throws InterruptedException, ExecutionException {
        return switch (order.verb()) {
            case "connect" -> connect(order);
            case "disconnect" -> disconnect(order);
            case "count" -> Counting.count(client(order), lock(order), order);
            case "watch" -> Counting.watch(client(order), lock(order), order);
            case "measure" -> Measuring.measure((kind, name) -> create(client(order), kind, name), order);
            case "use" -> Using.use(client(order), order);
            case "tellPresence" -> presence(order, HoldfastPresence::tell);
            case "leavePresence" -> presence(order, HoldfastPresence::leave);
            default -> obeyFor(order.text("kind"), order);
        };
    }

    private Object obeyFor(String kind, Order order) throws InterruptedException {
        return switch (kind) {
            case "semaphore" -> SemaphoreOrders.obey(client(order).getSemaphore(order.text("name")), order);
            case "permit-expirable-semaphore" -> PermitOrders.obey(
                    client(order).getPermitExpirableSemaphore(order.text("name")), order);
            case "count-down-latch" -> LatchOrders.obey(client(order).getCountDownLatch(order.text("name")), order);
            default -> LockOrders.obey(lock(order), order);
        };
    }

    /** Answers the id of the client, which is the first half of its holders' names. */
    private String connect(Order order) {
        Config config = new Config();
        // What is measured has Redisson's own settings.
        if (!order.flag("defaults")) {
            config.setThreads(4).setNettyThreads(4);
        }
        if (order.has("watchdogMs")) {
            config.setLockWatchdogTimeout(order.number("watchdogMs"));
        }
        BaseConfig<?> server = serverOf(config, order);
        if (order.has("namePrefix")) {
            NamePrefix.set(config, server, order.text("namePrefix"));
        }
        RedissonClient client = Redisson.create(config);
        open.put(order.text("client"), client);
        return client.getId();
    }

    private static BaseConfig<?> serverOf(Config config, Order order) {
        List<String> addresses = order.texts("addresses");
        if (order.flag("cluster")) {
            ClusterServersConfig servers = config.useClusterServers()
                    .addNodeAddress(addresses.toArray(String[]::new))
                    .setMasterConnectionMinimumIdleSize(1)
                    .setSlaveConnectionMinimumIdleSize(1);
            // Named only when it is asked for: releases before 3.29.0 do not have the mode.
            if (order.flag("classic")) {
                servers.setShardedSubscriptionMode(ShardedSubscriptionMode.OFF);
            }
            return servers;
        }
        SingleServerConfig server = config.useSingleServer().setAddress(addresses.get(0));
        return order.flag("defaults") ? server : server.setConnectionPoolSize(16).setConnectionMinimumIdleSize(1);
    }

    private boolean disconnect(Order order) {
        RedissonClient client = open.remove(order.text("client"));
        if (client != null) {
            locks.keySet().removeIf(named -> named.get("client").equals(order.options().get("client")));
            client.shutdown();
        }
        return client != null;
    }

    private RedissonClient client(Order order) {
        String name = order.text("client");
        RedissonClient client = open.get(name);
        if (client == null) {
            throw new IllegalStateException("no client is connected as " + name);
        }
        return client;
    }

    private boolean presence(Order order, Consumer<HoldfastPresence> act) {
        act.accept(new HoldfastPresence(client(order), order.text("group"), order.text("meta")));
        return true;
    }

    private RLock lock(Order order) {
        return locks.computeIfAbsent(order.only("thread", "client", "kind", "name", "members"), named -> create(order));
    }

    @SuppressWarnings("deprecation")
    private RLock create(Order order) {
        return switch (order.text("kind")) {
            case "multi" -> client(order).getMultiLock(members(order));
            case "red" -> client(order).getRedLock(members(order));
            default -> create(client(order), order.text("kind"), order.text("name"));
        };
    }

    private static RLock create(RedissonClient client, String kind, String name) {
        return switch (kind) {
            case "lock" -> client.getLock(name);
            case "non-reentrant" -> client.getNonReentrantLock(name);
            case "fair" -> client.getFairLock(name);
            case "non-reentrant fair" -> client.getNonReentrantFairLock(name);
            case "spin" -> client.getSpinLock(name);
            case "fenced" -> client.getFencedLock(name);
            case "read" -> client.getReadWriteLock(name).readLock();
            case "write" -> client.getReadWriteLock(name).writeLock();
            default -> throw new IllegalArgumentException("no kind of lock: " + kind);
        };
    }

    private RLock[] members(Order order) {
        return order.parts("members").stream().map(this::create).toArray(RLock[]::new);
    }
}
