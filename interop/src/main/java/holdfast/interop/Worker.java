package holdfast.interop;

import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** A Java thread that does one thing after the other, and can be interrupted in what it does. */
final class Worker {
    private final BlockingQueue<Runnable> work = new LinkedBlockingQueue<>();
    private final Thread thread;

    Worker(String name) {
        thread = new Thread(this::run, name);
        thread.setDaemon(true);
        thread.start();
    }

    void execute(Runnable task) {
        work.add(task);
    }

    void interrupt() {
        thread.interrupt();
    }

    /** Whether it stands in line where Redisson lets it wait for a message, or sleeps between two attempts. */
    boolean isWaiting() {
        StackTraceElement[] frames = thread.getStackTrace();
        boolean parks = frames.length > 0 && frames[0].getMethodName().equals("park");
        return Arrays.stream(frames).anyMatch(frame -> switch (frame.getClassName()) {
            case "java.util.concurrent.Semaphore", "org.redisson.misc.ReclosableLatch" -> parks;
            case "java.lang.Thread" -> frame.getMethodName().equals("sleep");
            default -> false;
        });
    }

    private void run() {
        while (true) {
            try {
                work.take().run();
            } catch (InterruptedException interrupted) {
                // There was nothing to interrupt.
            }
        }
    }
}
