package holdfast.interop;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import org.redisson.client.RedisException;

/**
 * A JVM that does with Redisson what it is told. Each line of stdin is an order; it is answered on stdout with the same id,
 * the id of the Java thread that obeyed, and when it did, on the monotonic clock of the machine:
 *
 * <pre>
 * {"event":"ready"}
 * {"id":1,"order":"connect","options":{"client":"a","addresses":["redis://127.0.0.1:6379"],"watchdogMs":30000}}
 * {"id":1,"event":"done","value":"4c5f0a54-...","threadId":31,"startedNs":9130112,"endedNs":9542398}
 * {"id":2,"order":"unlock","options":{"client":"a","kind":"fair","name":"order:7","thread":"t1"}}
 * {"id":2,"event":"failed","error":{"name":"java.lang.IllegalMonitorStateException","message":"..."},"threadId":32,"startedNs":...}
 * </pre>
 *
 * Orders to one {@code thread} are obeyed one after the other by one Java thread; different threads do not wait for each
 * other. Two are obeyed at once, whatever the thread does: "interrupt", and "isWaiting", which tells whether it waits for
 * a message, or to ask again. The process ends with its stdin.
 */
public final class Peer {
    private final Gson json = new GsonBuilder().serializeNulls().create();
    private final PrintStream answers;
    private final Clients clients = new Clients();
    private final Map<String, Worker> workers = new ConcurrentHashMap<>();

    private Peer(PrintStream answers) {
        this.answers = answers;
    }

    public static void main(String[] arguments) {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        // Whatever a library prints must not get between the answers.
        System.setOut(System.err);
        int status = 0;
        try {
            new Peer(answers).takeAll();
        } catch (IOException | RuntimeException failure) {
            failure.printStackTrace();
            status = 1;
        }
        // Redisson's threads would keep the process alive.
        System.exit(status);
    }

    private void takeAll() throws IOException {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        answers.println("{\"event\":\"ready\"}");
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            take(JsonParser.parseString(line).getAsJsonObject());
        }
    }

    private void take(JsonObject line) {
        long id = line.get("id").getAsLong();
        Order order = new Order(line.get("order").getAsString(), line.get("options").getAsJsonObject());
        Worker worker = workers.computeIfAbsent(order.text("thread", "main"), Worker::new);
        switch (order.verb()) {
            case "interrupt" -> {
                worker.interrupt();
                answer(id, "done", "value", true, System.nanoTime());
            }
            case "isWaiting" -> answer(id, "done", "value", worker.isWaiting(), System.nanoTime());
            default -> worker.execute(() -> obey(id, order));
        }
    }

    private void obey(long id, Order order) {
        long startedNs = System.nanoTime();
        String event = "done";
        String key = "value";
        Object result;
        try {
            result = clients.obey(order);
        } catch (Exception | Error thrown) {
            // An Error: this release of Redisson may have no such method.
            Throwable failure = thrown;
            while (isWrapper(failure)) {
                failure = failure.getCause();
            }
            event = "failed";
            key = "error";
            result = Map.of("name", failure.getClass().getName(), "message", String.valueOf(failure.getMessage()));
        }
        // An interruption that came too late must not hit the next order.
        Thread.interrupted();
        answer(id, event, key, result, startedNs);
    }

    /** Redisson puts what it throws of its own into these. */
    private static boolean isWrapper(Throwable thrown) {
        boolean wraps = thrown instanceof CompletionException || thrown.getClass() == RedisException.class;
        return wraps && thrown.getCause() != null;
    }

    private synchronized void answer(long id, String event, String key, Object result, long startedNs) {
        long endedNs = System.nanoTime();
        JsonObject answer = new JsonObject();
        answer.addProperty("id", id);
        answer.addProperty("event", event);
        answer.add(key, json.toJsonTree(result));
        answer.addProperty("threadId", Thread.currentThread().getId());
        answer.addProperty("startedNs", startedNs);
        answer.addProperty("endedNs", endedNs);
        answers.println(json.toJson(answer));
    }
}
