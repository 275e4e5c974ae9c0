import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** How a client program talks with the driver: JSON lines out, words on a line in (see python/protocol.py). */
final class Protocol {
    private Protocol() {
    }

    static Map<String, String> arguments(String[] args) {
        Map<String, String> values = new HashMap<>();
        for (int i = 0; i + 1 < args.length; i += 2) {
            values.put(args[i].substring(2), args[i + 1]);
        }
        return values;
    }

    /** Prints one event; fields are name, value, name, value. */
    static synchronized void say(String event, Object... fields) {
        Map<String, Object> line = new TreeMap<>();
        line.put("event", event);
        for (int i = 0; i < fields.length; i += 2) {
            line.put((String) fields[i], fields[i + 1]);
        }
        System.out.println(json(line));
    }

    static String words(Throwable problem) {
        String cause = problem.getCause() == null ? "" : " <- " + words(problem.getCause());
        return problem.getClass().getSimpleName() + ": " + problem.getMessage() + cause;
    }

    private static String json(Object value) {
        StringBuilder out = new StringBuilder();
        if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Map<?, ?> map) {
            String separator = "{";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(separator).append(json(String.valueOf(entry.getKey()))).append(':').append(json(entry.getValue()));
                separator = ",";
            }
            out.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof Collection<?> list) {
            String separator = "[";
            for (Object item : list) {
                out.append(separator).append(json(item));
                separator = ",";
            }
            out.append(list.isEmpty() ? "[]" : "]");
        } else {
            out.append('"');
            for (char c : value.toString().toCharArray()) {
                out.append(c == '"' || c == '\\' ? "\\" + c : c < ' ' ? String.format("\\u%04x", (int) c) : "" + c);
            }
            out.append('"');
        }
        return out.toString();
    }

    /** The lines of standard input, split into words; the end of input is a close. */
    static BlockingQueue<String[]> commands() {
        BlockingQueue<String[]> lines = new LinkedBlockingQueue<>();
        Thread reader = new Thread(() -> {
            try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in))) {
                for (String line = input.readLine(); line != null; line = input.readLine()) {
                    lines.add(line.trim().split("\\s+"));
                }
            } catch (IOException problem) {
                say("error", "message", words(problem));
            }
            lines.add(new String[] {"close"});
        });
        reader.setDaemon(true);
        reader.start();
        return lines;
    }
}
