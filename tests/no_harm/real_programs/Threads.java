import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class Threads {
    static long work(long seed) {
        long value = seed;
        List<Long> kept = new ArrayList<>();
        for (int i = 0; i < 400_000; ++i) {
            value = value * 6364136223846793005L + 1442695040888963407L;
            if (i % 16 == 0) kept.add(value);
        }
        return value ^ kept.size();
    }

    public static void main(String[] arguments) throws Exception {
        var pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> results = new ArrayList<>();
        for (long i = 0; i < 16; ++i) {
            long seed = i;
            results.add(pool.submit(() -> work(seed)));
        }
        long sum = 0;
        for (var result : results) sum += result.get();
        pool.shutdown();
        int caught = 0;
        for (int i = 0; i < 100_000; ++i) {
            try {
                String nothing = i % 2 == 0 ? null : "x";
                caught += nothing.length() - 1;
            } catch (NullPointerException expected) {
                ++caught;
            }
        }
        System.out.println(sum + " " + caught);
    }
}
