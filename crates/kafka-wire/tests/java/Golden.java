// Kafka's own generated classes at the checked-in bodies: each is read whole and written again to the same bytes, and a
// new object is written to those of the default.
//
// java -cp '<jars>/*' Golden.java golden.txt

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;

import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.Readable;

public final class Golden {
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws IOException {
        int failed = 0;
        var lines = Files.readAllLines(Path.of(arguments[0]));
        for (String line : lines) {
            String[] parts = line.split(" ", -1);
            try {
                check(parts[0], Short.parseShort(parts[1]), parts[2].equals("default"), HEX.parseHex(parts[3]));
            } catch (ReflectiveOperationException | RuntimeException | AssertionError error) {
                failed++;
                Throwable cause = error.getCause() == null ? error : error.getCause();
                System.out.printf("%s %s %s: %s%n", parts[0], parts[1], parts[2], cause);
            }
        }
        System.out.printf("%d passed, %d failed%n", lines.size() - failed, failed);
        System.exit(failed == 0 && !lines.isEmpty() ? 0 : 1);
    }

    private static void check(String name, short version, boolean isDefault, byte[] body)
            throws ReflectiveOperationException {
        // What consumers tell each other is not called data.
        String suffix = name.startsWith("ConsumerProtocol") ? "" : "Data";
        Class<?> type = Class.forName("org.apache.kafka.common.message." + name + suffix);
        ByteBuffer rest = ByteBuffer.wrap(body);
        Object read = type.getConstructor(Readable.class, short.class)
                .newInstance(new ByteBufferAccessor(rest), version);
        same("bytes left over", "", HEX.formatHex(body, rest.position(), body.length));
        same("what was read", HEX.formatHex(body), written((Message) read, version));
        if (isDefault) {
            same("a new one", HEX.formatHex(body), written((Message) type.getConstructor().newInstance(), version));
        }
    }

    private static String written(Message message, short version) {
        ByteBuffer bytes = MessageUtil.toByteBufferAccessor(message, version).buffer();
        return HEX.formatHex(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.arrayOffset() + bytes.limit());
    }

    private static void same(String what, String expected, String actual) {
        if (!expected.equals(actual)) {
            throw new AssertionError(what + ": expected " + expected + ", is " + actual);
        }
    }
}
