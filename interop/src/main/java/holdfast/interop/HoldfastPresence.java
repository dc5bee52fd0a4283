package holdfast.interop;

import java.time.Duration;
import java.util.List;
import org.redisson.api.RMap;
import org.redisson.api.RScript;
import org.redisson.api.RScoredSortedSet;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/** Tells the clients of holdfast that this JVM is there, and what it is. */
public final class HoldfastPresence {
    private static final long EVERY_MS = 5_000;
    private static final long KEEP_MS = 3_600_000;

    private final RedissonClient redisson;
    private final String clients;
    private final String client;
    private final String meta;

    /** @param meta JSON, such as {"app":"billing","host":"pod-7","pid":1,"labels":{"region":"eu"}} */
    public HoldfastPresence(RedissonClient redisson, String group, String meta) {
        this.redisson = redisson;
        this.clients = "holdfast_clients:{" + group + "}";
        this.client = "holdfast_client:{" + group + "}:" + redisson.getId();
        this.meta = meta;
    }

    /** To be called every five seconds, as by {@code @Scheduled(fixedRate = 5_000)}. */
    public void tell() {
        long nowMs = serverMs();
        RMap<String, String> told = redisson.getMap(client, StringCodec.INSTANCE);
        told.fastPut("v", "1");
        told.fastPut("meta", meta);
        told.fastPut("at", String.valueOf(nowMs));
        told.fastPut("every", String.valueOf(EVERY_MS));
        told.expire(Duration.ofMillis(KEEP_MS));
        RScoredSortedSet<String> all = redisson.getScoredSortedSet(clients, StringCodec.INSTANCE);
        all.add(nowMs + 3 * EVERY_MS, redisson.getId());
        all.removeRangeByScore(Double.NEGATIVE_INFINITY, true, nowMs - KEEP_MS, true);
        all.expire(Duration.ofMillis(KEEP_MS + 3 * EVERY_MS));
    }

    /** To be called before the client is shut down. */
    public void leave() {
        redisson.getScoredSortedSet(clients, StringCodec.INSTANCE).remove(redisson.getId());
        redisson.getMap(client, StringCodec.INSTANCE).delete();
    }

    /** The time of the server that has these keys: all clients go by it. */
    private long serverMs() {
        String script = "local time = redis.call('TIME') return string.format('%s%06d', time[1], time[2])";
        String micros = redisson.getScript(StringCodec.INSTANCE)
                .eval(RScript.Mode.READ_WRITE, script, RScript.ReturnType.VALUE, List.of(clients));
        return Long.parseLong(micros) / 1_000;
    }
}
